import { threadId } from 'node:worker_threads';
import { AnswerAdditions } from '../../decision/answers/additions.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import { Engine } from '../../decision/engine.ts';
import { HotKeyObserver } from '../../decision/hot-keys/hot-key-observer.ts';
import { Seats } from '../../decision/hot-keys/seats.ts';
import type { ThreadMessage } from '../../decision/pool/thread-messages.ts';
import { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import { type RehearsalSource, RehearsalSubscriber } from '../../rehearsal/rehearsal-channel.ts';
import { RehearsalObserver } from '../../rehearsal/rehearsal-observer.ts';
import type { Settings } from '../../settings/table.ts';
import { SharedRecordsReader } from '../../steering/shared-records.ts';
import type { DecisionLogSharing } from '../decision-log/open-decision-logger.ts';
import type { StoreSharing } from '../stores/opened-store.ts';
import type { Surroundings, ThreadSurroundings } from '../surroundings.ts';
import { engineOptions, localCacheBytes } from './engine-settings.ts';

/** What all threads that decide share. The primary thread creates it, and sends it to the others. */
export interface DecidingSetup {
  readonly settings: Settings;
  readonly store: StoreSharing;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLogSharing | null;
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
  /** Memory of `BatchFigures`. */
  readonly batchFigures: SharedArrayBuffer;
  /** Memory of `Seats`; null if hot keys are disabled. */
  readonly hotKeys: readonly SharedArrayBuffer[] | null;
}

type EngineParts = ConstructorParameters<typeof Engine>[0];

/** What the engine of each thread has for itself. */
type OwnParts = Pick<EngineParts, 'store' | 'overLimit' | 'counters' | 'clock' | 'nowMs'> &
  Required<Pick<EngineParts, 'observers'>> &
  Pick<EngineParts, 'storeSpans'>;

/** Creates the decision engine of a thread. */
export function openEngine(
  { settings, random, logger }: Omit<Surroundings, 'stats' | 'clock'>,
  { steering, batchFigures }: Pick<DecidingSetup, 'steering' | 'batchFigures'>,
  own: OwnParts,
): Engine {
  const options = engineOptions(settings);
  return new Engine({
    ...own,
    options,
    additions: new AnswerAdditions(options),
    random,
    logger,
    figures: BatchFigures.attach(batchFigures),
    ...(steering !== null && { steering: new SharedRecordsReader(steering) }),
  });
}

/**
 * The observers of a thread: what records hot keys and last refusals, what decides candidate rules in shadow, and the
 * decision log.
 *
 * @param decisionLogger null if the decision log is disabled
 */
export function observersOf(
  setup: DecidingSetup,
  rehearsal: RehearsalSource,
  decisionLogger: BatchObserver | null,
): readonly BatchObserver[] {
  const { settings, hotKeys } = setup;
  const { fingerprintKey } = setup.store;
  const { cacheKeyPrefix } = settings;
  const observers: BatchObserver[] = [];
  if (hotKeys !== null) {
    const seats = new Seats(hotKeys);
    observers.push(
      new HotKeyObserver({ seats, threadId, fingerprintKey, cacheKeyPrefix, random: Math.random }),
    );
  }
  if (decisionLogger !== null) observers.push(decisionLogger);
  observers.push(rehearsalObserver(setup, rehearsal));
  return observers;
}

/** Decides in shadow what a thread sees, with the candidate rules. */
export function rehearsalObserver(
  { settings, store: { fingerprintKey }, steering }: DecidingSetup,
  rehearsal: RehearsalSource,
): RehearsalObserver {
  return new RehearsalObserver(
    { options: engineOptions(settings), fingerprintKey, localCacheBytes: localCacheBytes(settings) },
    rehearsal,
    steering === null ? null : new SharedRecordsReader(steering),
  );
}

/** The rehearsals of a thread other than the primary thread, which publishes them. */
export function followRehearsals({ post }: ThreadSurroundings<ThreadMessage>): RehearsalSource {
  return new RehearsalSubscriber(port => post({ kind: 'follows_rehearsal', port }, [port]));
}

/** The observers of a thread other than the primary thread, which writes the decision log. */
export async function threadObservers(
  setup: DecidingSetup,
  { settings, stats, post }: ThreadSurroundings<ThreadMessage>,
  source: RehearsalSource,
): Promise<readonly BatchObserver[]> {
  const { decisionLog: sharing } = setup;
  if (sharing === null) return observersOf(setup, source, null);
  // Loaded only when needed, because loading it takes memory and startup time.
  const { openDecisionLogger } = await import('../decision-log/open-decision-logger.ts');
  const write = (lines: string): void => post({ kind: 'decisions', lines });
  return observersOf(setup, source, openDecisionLogger({ settings, sharing, stats, write }));
}
