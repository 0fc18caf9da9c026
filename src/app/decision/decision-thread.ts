import { type Transferable, threadId } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger, LogLevel } from '../../base/logger.ts';
import { acceptMessages, type LastingTask } from '../../base/threads/inside-thread.ts';
import { ThreadLogger } from '../../base/threads/thread-log.ts';
import { AnswerAdditions } from '../../decision/answers/additions.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import { Engine } from '../../decision/engine.ts';
import { Seats } from '../../decision/hot-keys/seats.ts';
import { ThreadDecider } from '../../decision/pool/thread-decider.ts';
import type { FromDecisionThread, ToDecisionThread } from '../../decision/pool/thread-messages.ts';
import { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import { RehearsalSubscriber } from '../../rehearsal/rehearsal-channel.ts';
import type { Settings } from '../../settings/table.ts';
import { StatsRegistry } from '../../stats/registry.ts';
import { SharedRecordsReader } from '../../steering/shared-records.ts';
import type { DecisionLogSharing } from '../decision-log/open-decision-logger.ts';
import { threadObservers } from '../decision-log/thread-observers.ts';
import { rehearsalObserver } from '../rehearsal/rehearsal-observer.ts';
import { ThreadPauses } from '../statistics/thread-pauses.ts';
import { StatsReporter } from '../statistics/thread-stats.ts';
import type { OpenedStore, StoreSharing } from '../stores/opened-store.ts';
import { openThreadStore } from '../stores/thread-store.ts';
import { engineOptions, openOverLimitCache } from './engine-settings.ts';
import { hotKeyObservers } from './hot-keys.ts';

/** The `workerData` of a decision thread. */
export interface DecisionThreadSetup {
  readonly settings: Settings;
  readonly store: StoreSharing;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLogSharing | null;
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
  /** Memory of `BatchFigures`. */
  readonly batchFigures: SharedArrayBuffer;
  /** Name of the channel that tells the rehearsal; see `RehearsalPublisher`. */
  readonly rehearsal: string;
  /** Memory of `Seats`; null if hot keys are disabled. */
  readonly hotKeys: readonly SharedArrayBuffer[] | null;
  /** Log levels that the process writes. */
  readonly logLevels: readonly LogLevel[];
}

type Post = (message: FromDecisionThread, transfer?: readonly Transferable[]) => void;

/**
 * Decides the batches that arrive over the port, with the engine and the store of this thread. Batches are accepted
 * once the store has started.
 *
 * @returns resolves when the store is closed after `stop`
 */
export async function serveDecisions({ port }: LastingTask, setup: DecisionThreadSetup): Promise<void> {
  const post: Post = (message, transfer = []) => port.postMessage(message, transfer);
  const stats = new StatsRegistry();
  const logger = new ThreadLogger(setup.logLevels, post);
  const opened = await openThreadStore({ ...setup, shared: setup.store, stats, logger, post });
  const seats = setup.hotKeys === null ? null : new Seats(setup.hotKeys);
  const observers = [
    ...hotKeyObservers(setup.settings, setup.store, seats),
    rehearsalObserver(setup, new RehearsalSubscriber(setup.rehearsal)),
    ...(await threadObservers(setup, stats, lines => post({ kind: 'decisions', threadId, lines }))),
  ];
  const decider = openDecider(setup, opened, { logger, observers });
  const reporter = new StatsReporter(stats, systemClock, change =>
    post({ kind: 'stats', threadId, ...change }),
  );
  const pauses = new ThreadPauses({ stats, kind: 'decision', clock: systemClock });
  const stopped = Promise.withResolvers<void>();
  await opened.start();
  reporter.start();
  pauses.start();
  acceptMessages<ToDecisionThread>(port, message => {
    if (message.kind === 'decide') void decide(decider, message, post);
    else stopped.resolve();
  });
  port.once('close', stopped.resolve);
  await stopped.promise;
  await opened.stop();
  pauses.stop();
  reporter.stop();
  port.close();
}

async function decide(
  decider: ThreadDecider,
  { number, task }: Extract<ToDecisionThread, { kind: 'decide' }>,
  post: Post,
): Promise<void> {
  try {
    const deciding = decider.decide(task);
    const result = deciding instanceof Promise ? await deciding : deciding;
    post({ kind: 'decided', number, result }, [result.requests, result.answers]);
  } catch (failure) {
    post({ kind: 'failed', number, error: asError(failure) });
  }
}

function openDecider(
  { settings, store, steering, batchFigures }: DecisionThreadSetup,
  opened: OpenedStore,
  { logger, observers }: { readonly logger: Logger; readonly observers: readonly BatchObserver[] },
): ThreadDecider {
  return new ThreadDecider({
    makeEngine: ({ counters, clock }) => {
      const overLimit = openOverLimitCache(settings, clock, store);
      const options = engineOptions(settings);
      const engine = new Engine({
        options,
        additions: new AnswerAdditions(options),
        store: opened.store,
        overLimit,
        counters,
        clock,
        logger,
        random: Math.random,
        nowMs: null,
        observers,
        figures: BatchFigures.attach(batchFigures),
        ...(steering !== null && { steering: new SharedRecordsReader(steering) }),
      });
      return { engine, overLimit };
    },
    fingerprintKey: store.fingerprintKey,
    threadId,
  });
}
