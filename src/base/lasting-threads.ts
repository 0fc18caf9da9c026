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

/** How long a stop waits for the threads to end by themselves. */
const STOP_MS = 2_000;
/** How long to wait before a thread is tried again that did not even start, or ended as soon as it had, twice in a row. */
const RESTART = { initialMs: 100, maxMs: 2_000 };
/** A thread that has run for so long had a good start. */
const STARTED_MS = 1_000;

/** What a thread is given as its task, once: it serves what comes over the port until that says `stop`. */
export interface LastingTask {
  readonly port: MessagePort;
}

/** What every thread understands. */
export interface StopThread {
  readonly kind: 'stop';
}

/** What every thread says first. */
export interface ThreadIsReady {
  readonly kind: 'ready';
}

/** One thread, from its start to its end. */
export interface LastingThread<To> {
  /** Its place among the threads, from 0: the one that replaces it has the same. */
  readonly place: number;
  readonly state: 'starting' | 'ready' | 'over';
  post(message: To | StopThread, transfer?: readonly Transferable[]): void;
}

export interface LastingThreadsParts<To, From> {
  /** What the threads are called in the log: `delivery thread`. */
  readonly what: string;
  /** The module that each thread runs; its default export takes a {@link LastingTask}. */
  readonly module: URL;
  readonly count: number;
  /** What a thread finds as its `workerData`. */
  readonly workerData: () => unknown;
  readonly resourceLimits?: ResourceLimits;
  /** The thread takes messages. */
  readonly ready: (thread: LastingThread<To>) => void;
  readonly heard: (thread: LastingThread<To>, message: Exclude<From, ThreadIsReady>) => void;
  /** The thread is no more; told once of each. Returns what the log is to say about it. */
  readonly ended: (thread: LastingThread<To>, wasReady: boolean) => LogFields;
  /** Called for each thread that ended although nobody asked it to. */
  readonly lost: (place: number) => void;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

interface Running<To> extends LastingThread<To> {
  readonly pool: Piscina<LastingTask, void>;
  readonly port: MessagePort;
  state: LastingThread<To>['state'];
  /** Runs out when it has had a good start. */
  starting: Timer | null;
  /** Resolves when nothing of it is left. */
  readonly gone: PromiseWithResolvers<void>;
}

/**
 * Threads that have one task of Piscina's for as long as they live, and talk over a channel beside it: many messages of
 * one turn of the event loop can travel as one. A thread that ends is replaced.
 *
 * Each has a pool to itself: in a larger one, a thread that fails before it is ready leaves its task in the queue, and
 * nobody learns of it.
 */
export class LastingThreads<To, From> implements Service {
  readonly name: string;
  readonly #parts: LastingThreadsParts<To, From>;
  readonly #threads = new Set<Running<To>>();
  readonly #restarts = new Set<Timer>();
  #state: 'stopped' | 'running' = 'stopped';
  /** By place: starts in a row that were not good. */
  readonly #failedStarts: number[];
  #firstReady = Promise.withResolvers<void>();

  constructor(parts: LastingThreadsParts<To, From>) {
    this.name = `${parts.what}s`;
    this.#parts = parts;
    this.#failedStarts = Array.from({ length: parts.count }, () => 0);
  }

  /** Whether ends are expected: nothing is replaced. */
  get stopped(): boolean {
    return this.#state === 'stopped';
  }

  /**
   * Waits for the first thread; the others follow.
   *
   * @throws Error when the first one to start does not
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

  /** Lets the threads end by themselves, and ends them where they do not in time. */
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
      // The thread begins with its task, and is not replaced by Piscina.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // A thread that sleeps would not hear what its connections bring.
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
    // The last to be told: whoever knows the reason has told it by the next turn.
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

  /** Told of each end more than once. */
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
