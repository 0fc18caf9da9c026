import { threadId } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { Health } from '../../base/health.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import {
  busyShare,
  hearMessages,
  type LastingTask,
  reportReady,
  type StopThread,
} from '../../base/threads/inside-thread.ts';
import { Bound } from '../../base/threads/shared-bound.ts';
import { ThreadLogger } from '../../base/threads/thread-log.ts';
import type { Batcher } from '../../decision/batching/batcher.ts';
import { RulesSubscriber } from '../../decision/generations/rules-subscriber.ts';
import { Seats } from '../../decision/hot-keys/seats.ts';
import { ThreadNames } from '../../decision/statistics/thread-names.ts';
import { RehearsalSubscriber } from '../../rehearsal/rehearsal-channel.ts';
import { StatsRegistry } from '../../stats/registry.ts';
import { createBatcher, engineCounters } from '../decision/create-batcher.ts';
import { openOverLimitCache } from '../decision/engine-settings.ts';
import { hotKeyObservers } from '../decision/hot-keys.ts';
import { threadObservers } from '../decision-log/thread-observers.ts';
import { IdleCollector, ownMemory } from '../idle-collector.ts';
import { rehearsalObserver } from '../rehearsal/rehearsal-observer.ts';
import { ThreadPauses } from '../statistics/thread-pauses.ts';
import { type ThreadReport, ThreadReporter } from '../statistics/thread-reporter.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import { openThreadStore } from '../stores/thread-store.ts';
import { loadTracing } from '../tracing/load-tracing.ts';
import type {
  BeginServing,
  FromServingThread,
  ServingPorts,
  ServingThreadSetup,
  ToServingThread,
} from './messages.ts';
import { FiguresWriter, ThreadFigures } from './thread-figures.ts';
import { ThreadPorts } from './thread-ports.ts';

/** How long the start of a thread waits for the store, which the primary thread has already reached. */
const STORE_MS = 2_000;
/** How long a thread waits that replaces another one. */
const REPLACEMENT_STORE_MS = 200;

type Post = (message: FromServingThread) => void;

/**
 * Serves connections in this thread, with an engine and a store of its own, until `stop` arrives. The rest of the
 * process is reached over the port only.
 *
 * @returns resolves when the ports and the store are closed
 */
export async function serveConnections({ port }: LastingTask, setup: ServingThreadSetup): Promise<void> {
  const post: Post = message => port.postMessage(message);
  const begun = Promise.withResolvers<BeginServing>();
  const stopped = Promise.withResolvers<void>();
  let thread: ServingThread | null = null;
  hearMessages<ToServingThread>(port, message => {
    if (message.kind === 'begin') begun.resolve(message);
    else if (message.kind === 'stop') stopped.resolve();
    else thread?.heard(message);
  });
  port.once('close', stopped.resolve);
  post({ kind: 'hello' });
  thread = await openThread(setup, await begun.promise, post);
  reportReady(port);
  await stopped.promise;
  await thread.stop();
  port.close();
}

/** The parts of a serving thread. */
interface Parts {
  readonly store: OpenedStore;
  readonly batcher: Batcher;
  readonly ports: ThreadPorts;
  /** Null if tracing is disabled. */
  readonly tracing: Service | null;
  /** The health of the process. */
  readonly health: Health;
  readonly reporter: ThreadReporter;
  readonly pauses: ThreadPauses;
  readonly figures: FiguresWriter;
  readonly collector: IdleCollector;
  readonly logger: Logger;
  readonly post: Post;
}

class ServingThread {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  heard(message: Exclude<ToServingThread, BeginServing | StopThread>): void {
    const { ports, health, reporter, figures, post } = this.#parts;
    if (message.kind === 'tls') ports.useTls(message.material);
    else if (message.kind === 'health') health.mirror(message.components);
    else if (message.kind === 'listen') void this.#listen(message.ports);
    else if (message.kind === 'move') this.#moved(ports.moveOne(message.mostShare) ? 1 : 0);
    else if (message.kind === 'spread') this.#moved(ports.moveSome(message.connections));
    else if (message.kind === 'drain') void this.#drain(message.number);
    else if (message.kind === 'report') {
      figures.write();
      reporter.requested(message.request);
    } else {
      ports.closeGrpcPort();
      post({ kind: 'answered', number: message.number });
    }
  }

  async #listen(wanted: ServingPorts): Promise<void> {
    const { ports, post } = this.#parts;
    try {
      post({ kind: 'listening', ports: await ports.open(wanted) });
    } catch (failure) {
      post({ kind: 'not_listening', message: asError(failure).message });
    }
  }

  #moved(connections: number): void {
    if (connections > 0) this.#parts.post({ kind: 'moved', connections });
  }

  async #drain(number: number): Promise<void> {
    await this.#parts.ports.close();
    this.#parts.post({ kind: 'answered', number });
  }

  async stop(): Promise<void> {
    const { ports, tracing, store, reporter, pauses, figures, collector } = this.#parts;
    await ports.close();
    await this.#decided();
    pauses.stop();
    reporter.stop();
    figures.stop();
    collector.stop();
    await store.stop();
    await tracing?.stop();
  }

  /** Waits until all requests are decided, or until the time for the shutdown is over. */
  async #decided(): Promise<void> {
    const { ports, batcher, logger } = this.#parts;
    const bound = Promise.withResolvers<void>();
    const timer = systemClock.after(ports.closingMs, bound.resolve);
    await Promise.race([batcher.drained(), bound.promise]);
    timer.cancel();
    const requests = batcher.pending;
    if (requests > 0)
      logger.warning('Shutdown timeout: the store has not answered some requests', { requests });
  }
}

async function openThread(
  setup: ServingThreadSetup,
  begin: BeginServing,
  post: Post,
): Promise<ServingThread> {
  const { settings } = setup;
  const stats = new StatsRegistry();
  const logger = new ThreadLogger(setup.logLevels, post);
  process.on('unhandledRejection', reason => logRejection(logger, reason));
  const thread = { place: begin.place, link: begin.storeLink };
  const store = await openThreadStore({
    settings,
    shared: setup.store,
    serving: { count: setup.threads, thread },
    stats,
    logger,
    post,
  });
  await startStore(store, begin.waitsForStore);
  const loads = ThreadFigures.attach(setup.figures);
  const names = new ThreadNames();
  const overLimit = openOverLimitCache(settings, systemClock, setup.store);
  const seats = setup.hotKeys === null ? null : new Seats(setup.hotKeys);
  const openTracing = await loadTracing(settings, { clock: systemClock, logger });
  const tracing = openTracing?.(stats) ?? null;
  const batcher = createBatcher({
    observers: [
      ...hotKeyObservers(settings, setup.store, seats),
      rehearsalObserver(setup, new RehearsalSubscriber(setup.rehearsal)),
      ...(await threadObservers(setup, stats, lines => post({ kind: 'decisions', threadId, lines }))),
    ],
    settings,
    store,
    named: names,
    counters: engineCounters(stats),
    overLimit,
    rules: new RulesSubscriber(begin.rules),
    sharedBounds: { requests: Bound.at(begin.bounds.requests), bytes: Bound.at(begin.bounds.bytes) },
    pool: null,
    steering: setup.steering,
    batchFigures: setup.batchFigures,
    stats,
    clock: systemClock,
    random: Math.random,
    logger,
  });
  const health = new Health();
  const clock = systemClock;
  const ports = new ThreadPorts(
    { settings, decider: batcher, tracing, health, stats, clock, logger },
    { threads: setup.threads, bounds: begin.bounds, loads, tasks: begin.tasks },
  );
  const tell = (report: ThreadReport): void => post({ kind: 'report', threadId, report });
  const reporter = new ThreadReporter({ stats, names, overLimit, threadId, tell, clock });
  reporter.start();
  const pauses = new ThreadPauses({ stats, kind: 'serving', clock });
  pauses.start();
  const figures = new FiguresWriter(
    { figures: loads, place: begin.place, clock, busyShare: busyShare() },
    () => ({ connections: ports.connections, decisions: batcher.decided }),
  );
  figures.start();
  const collector = new IdleCollector(clock, ownMemory());
  collector.start();
  return new ServingThread({
    store,
    batcher,
    ports,
    tracing,
    health,
    reporter,
    pauses,
    figures,
    collector,
    logger,
    post,
  });
}

/**
 * Connects to the store. A thread that replaces another one serves even while the store is unavailable: its requests
 * fail until the store is back, as those of the other threads.
 */
async function startStore(store: OpenedStore, waits: boolean): Promise<void> {
  const started = store.start();
  // The start fails only if the thread is stopped.
  started.catch(() => {});
  const late = Promise.withResolvers<void>();
  const timer = systemClock.after(waits ? STORE_MS : REPLACEMENT_STORE_MS, late.resolve);
  await Promise.race([started, late.promise]);
  timer.cancel();
}

/** As in the primary thread, an unhandled rejection is a bug, but no reason to stop making decisions. */
function logRejection(logger: Logger, reason: unknown): void {
  logger.error('Unhandled promise rejection (this is a bug; please report it)', {
    error: asError(reason).stack,
  });
}
