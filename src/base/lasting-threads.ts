import {
  MessageChannel,
  type MessagePort,
  type ResourceLimits,
  type Transferable,
} from 'node:worker_threads';
import { Piscina } from 'piscina';
import { backoffMs } from './backoff.ts';
import type { Clock, Timer } from './clock.ts';
import { asError } from './fault.ts';
import type { Service } from './lifecycle.ts';
import type { LogFields, Logger } from './logger.ts';

/** How long `stop` waits for the threads to end on their own. */
const STOP_MS = 2_000;
/**
 * Delay before another attempt to start a thread that failed to start, or that died right after it became ready, twice
 * in a row.
 */
const RESTART = { initialMs: 100, maxMs: 2_000 };
/** A thread that has run for this long counts as started successfully. */
const STARTED_MS = 1_000;

/** The one task of a thread. The thread serves messages from the port until it receives `stop`. */
export interface LastingTask {
  readonly port: MessagePort;
}

/** The message that stops a thread. Every thread accepts it. */
export interface StopThread {
  readonly kind: 'stop';
}

/** The first message of every thread. */
export interface ThreadIsReady {
  readonly kind: 'ready';
}

/** One thread, from its start to its end. */
export interface LastingThread<To> {
  /** Index of the thread, from 0. A replacement gets the index of the thread it replaces. */
  readonly place: number;
  readonly state: 'starting' | 'ready' | 'over';
  post(message: To | StopThread, transfer?: readonly Transferable[]): void;
}

export interface LastingThreadsParts<To, From> {
  /** Name of the threads in the log, such as `delivery thread`. */
  readonly what: string;
  /** The module that each thread runs; its default export takes a {@link LastingTask}. */
  readonly module: URL;
  readonly count: number;
  /** The `workerData` of the threads. */
  readonly workerData: () => unknown;
  readonly resourceLimits?: ResourceLimits;
  /** Called when the thread accepts messages. */
  readonly ready: (thread: LastingThread<To>) => void;
  readonly heard: (thread: LastingThread<To>, message: Exclude<From, ThreadIsReady>) => void;
  /** Called once when a thread has ended. Returns the fields for the log line about it. */
  readonly ended: (thread: LastingThread<To>, wasReady: boolean) => LogFields;
  /** Called for each thread that ended without having been stopped. */
  readonly lost: (place: number) => void;
  readonly clock: Clock;
  /** Returns a random number, 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  readonly logger: Logger;
}

interface Running<To> extends LastingThread<To> {
  readonly pool: Piscina<LastingTask, void>;
  readonly port: MessagePort;
  state: LastingThread<To>['state'];
  /** Fires when the thread counts as started successfully. */
  starting: Timer | null;
  /** Resolves when the thread has ended and its resources are released. */
  readonly gone: PromiseWithResolvers<void>;
}

/**
 * Threads that run one Piscina task for their whole lifetime and communicate over a separate channel, so that many
 * messages of one turn of the event loop can be sent as one. A thread that dies is replaced.
 *
 * Each thread has a pool of its own. In a shared pool, a thread that fails before it is ready leaves its task in the
 * queue, and the failure is never reported.
 */
export class LastingThreads<To, From> implements Service {
  readonly name: string;
  readonly #parts: LastingThreadsParts<To, From>;
  readonly #threads = new Set<Running<To>>();
  readonly #restarts = new Set<Timer>();
  #state: 'stopped' | 'running' = 'stopped';
  /** Number of consecutive failed starts, by thread index. */
  readonly #failedStarts: number[];
  #firstReady = Promise.withResolvers<void>();

  constructor(parts: LastingThreadsParts<To, From>) {
    this.name = `${parts.what}s`;
    this.#parts = parts;
    this.#failedStarts = Array.from({ length: parts.count }, () => 0);
  }

  /** True after `stop`: threads that end are not replaced. */
  get stopped(): boolean {
    return this.#state === 'stopped';
  }

  /**
   * Waits for the first thread; the others start in the background.
   *
   * @throws Error if the first thread fails to start
   */
  async start(): Promise<void> {
    this.#state = 'running';
    this.#firstReady = Promise.withResolvers<void>();
    for (let place = 0; place < this.#parts.count; place++) this.#open(place);
    try {
      await this.#firstReady.promise;
    } catch (failure) {
      await this.stop();
      throw failure;
    }
  }

  /** Asks the threads to end, and terminates those that do not end in time. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#firstReady.reject(new Error(`the ${this.name} are stopped`));
    for (const timer of this.#restarts) timer.cancel();
    this.#restarts.clear();
    const threads = [...this.#threads];
    const allGone = Promise.all(threads.map(({ gone }) => gone.promise));
    const waited = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(STOP_MS, waited.resolve);
    for (const thread of threads) {
      if (thread.state === 'ready') thread.post({ kind: 'stop' });
      else this.#ended(thread, 'it is stopped');
    }
    await Promise.race([allGone, waited.promise]);
    timer.cancel();
    for (const thread of threads) this.#ended(thread, 'it did not stop in time');
    await allGone;
  }

  #open(place: number): void {
    const { module, workerData, resourceLimits } = this.#parts;
    const { port1, port2 } = new MessageChannel();
    const pool = new Piscina<LastingTask, void>({
      filename: module.href,
      // The thread starts together with its task, and Piscina does not replace it.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // A thread in `Atomics.wait` would not receive messages from its connections.
      atomics: 'disabled',
      recordTiming: false,
      workerData: workerData(),
      ...(resourceLimits !== undefined && { resourceLimits }),
    });
    const thread: Running<To> = {
      place,
      pool,
      port: port1,
      state: 'starting',
      starting: null,
      gone: Promise.withResolvers<void>(),
      post: (message, transfer = []) => port1.postMessage(message, transfer),
    };
    this.#threads.add(thread);
    port1.on('message', (message: From | ThreadIsReady) => this.#heard(thread, message));
    const ended = (failure: unknown): void => this.#ended(thread, asError(failure).message);
    pool.on('error', ended);
    // Runs last, in the next turn: by then the event that carries the reason has been handled.
    pool.on('workerDestroy', () => setImmediate(ended, new Error('the thread was ended')));
    pool.run({ port: port2 }, { transferList: [port2] }).then(() => ended('it came to its end'), ended);
  }

  #heard(thread: Running<To>, message: From | ThreadIsReady): void {
    if ((message as ThreadIsReady).kind !== 'ready') {
      this.#parts.heard(thread, message as Exclude<From, ThreadIsReady>);
      return;
    }
    thread.state = 'ready';
    thread.starting = this.#parts.clock.after(STARTED_MS, () => {
      this.#failedStarts[thread.place] = 0;
    });
    this.#parts.ready(thread);
    this.#firstReady.resolve();
  }

  /** May be called more than once for the same thread. */
  #ended(thread: Running<To>, reason: string): void {
    if (thread.state === 'over') return;
    const wasReady = thread.state === 'ready';
    thread.state = 'over';
    thread.starting?.cancel();
    this.#threads.delete(thread);
    thread.port.close();
    thread.pool.destroy().then(thread.gone.resolve, thread.gone.reject);
    const fields = this.#parts.ended(thread, wasReady);
    if (this.#state === 'running') this.#replace(thread.place, wasReady, { reason, ...fields });
  }

  #replace(place: number, wasReady: boolean, fields: LogFields): void {
    const { what, lost, logger, clock, random } = this.#parts;
    lost(place);
    logger.error(`a ${what} ended`, { ...fields, next: 'it is replaced' });
    const failed = this.#failedStarts[place]++;
    if (wasReady && failed === 0) {
      this.#open(place);
      return;
    }
    if (!wasReady) this.#firstReady.reject(new Error(`a ${what} does not start: ${fields['reason']}`));
    const timer = clock.after(backoffMs(RESTART, failed, random), () => {
      this.#restarts.delete(timer);
      this.#open(place);
    });
    this.#restarts.add(timer);
  }
}
