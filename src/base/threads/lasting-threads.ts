import { backoffMs } from '../backoff.ts';
import { type Clock, type Timer, within } from '../clock.ts';
import { asError } from '../fault.ts';
import type { Service } from '../lifecycle.ts';
import type { LogFields, Logger } from '../logger.ts';
import {
  type LastingThread,
  RunningThread,
  type RunningThreadParts,
  type ThreadEnd,
} from './lasting-thread.ts';

/** How long `stop` waits for the threads to end on their own. */
const STOP_MS = 2_000;
/**
 * Delay before another attempt to start a thread that failed to start, or that died right after it became ready, twice
 * in a row.
 */
const RESTART = { initialMs: 100, maxMs: 2_000 };
/** A thread that has run for this long counts as started successfully. */
const STARTED_MS = 1_000;

/** The parts that owners of such threads receive themselves and pass on. */
export interface ThreadCreation {
  /** The module that each thread runs; its default export takes a `LastingTask`. */
  readonly module: URL;
  readonly count: number;
  /** The `workerData` of the threads. */
  readonly workerData: () => unknown;
  /** Called for each thread that ended without having been stopped. */
  readonly lost: (place: number) => void;
  readonly clock: Clock;
  /** Returns a random number, 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  readonly logger: Logger;
}

interface LastingThreadsParts<To, From>
  extends ThreadCreation,
    Pick<RunningThreadParts<To, From>, 'resourceLimits' | 'isAwaited' | 'heard'>,
    Partial<Pick<RunningThreadParts<To, From>, 'exited'>> {
  /** Name of the threads in the log, such as `delivery thread`. */
  readonly what: string;
  /** Called when the thread accepts messages. */
  readonly ready: (thread: LastingThread<To>) => void;
  /**
   * Called once when a thread has ended, before `exited`. The thread may still execute what it was doing. Returns the
   * fields for the log line about the end.
   */
  readonly ended: (thread: LastingThread<To>, wasReady: boolean) => LogFields;
}

/**
 * Long-lived threads ({@link RunningThread}). A thread that dies, or that hangs while it is waited for, is replaced.
 */
export class LastingThreads<To, From> implements Service {
  readonly name: string;
  readonly #parts: LastingThreadsParts<To, From>;
  readonly #ofThread: RunningThreadParts<To, From>;
  readonly #threads = new Set<RunningThread<To, From>>();
  readonly #timers = new Set<Timer>();
  #state: 'stopped' | 'running' = 'stopped';
  /** Number of consecutive failed starts, by thread index. */
  readonly #failedStarts: number[];
  #firstReady = Promise.withResolvers<void>();

  constructor(parts: LastingThreadsParts<To, From>) {
    this.name = `${parts.what}s`;
    this.#parts = parts;
    this.#ofThread = {
      ...parts,
      ready: thread => this.#ready(thread),
      ended: (thread, wasReady, end) => this.#ended(thread, wasReady, end),
      exited: thread => parts.exited?.(thread),
    };
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
    this.startWithoutWaiting();
    try {
      await this.#firstReady.promise;
    } catch (failure) {
      await this.stop();
      throw failure;
    }
  }

  /** Starts the threads in the background. A thread that fails to start is started again after a delay. */
  startWithoutWaiting(): void {
    this.#state = 'running';
    this.#firstReady = Promise.withResolvers<void>();
    // Nobody may be waiting for the first thread.
    this.#firstReady.promise.catch(() => {});
    for (let place = 0; place < this.#parts.count; place++) this.#open(place);
  }

  /** Asks the threads to shut down, and terminates those that do not shut down in time. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#firstReady.reject(new Error(`the ${this.name} are stopped`));
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    const threads = [...this.#threads];
    const allGone = Promise.all(threads.map(({ gone }) => gone));
    for (const thread of threads) {
      if (thread.state === 'ready') thread.post({ kind: 'stop' });
      else thread.end('it is stopped');
    }
    await within(this.#parts.clock, STOP_MS, allGone);
    for (const thread of threads) thread.end('it did not shut down in time');
    await allGone;
  }

  #open(place: number): void {
    try {
      this.#threads.add(new RunningThread(place, this.#ofThread));
    } catch (failure) {
      const error = asError(failure);
      this.#replace(place, false, { reason: error.message, error, hungSinceMs: null }, {});
    }
  }

  #ready(thread: RunningThread<To, From>): void {
    this.#later(STARTED_MS, () => {
      if (thread.state === 'ready') this.#failedStarts[thread.place] = 0;
    });
    this.#parts.ready(thread);
    this.#firstReady.resolve();
  }

  #ended(thread: RunningThread<To, From>, wasReady: boolean, end: ThreadEnd): void {
    this.#threads.delete(thread);
    const fields = this.#parts.ended(thread, wasReady);
    if (this.#state === 'running') this.#replace(thread.place, wasReady, end, fields);
  }

  #replace(place: number, wasReady: boolean, end: ThreadEnd, fields: LogFields): void {
    const { what, lost, random } = this.#parts;
    lost(place);
    this.#log(end, fields);
    const failed = this.#failedStarts[place]++;
    if (wasReady && failed === 0) {
      this.#open(place);
      return;
    }
    if (!wasReady) this.#firstReady.reject(new Error(`a ${what} does not start: ${end.reason}`));
    this.#later(backoffMs(RESTART, failed, random), () => this.#open(place));
  }

  #log({ reason, error, hungSinceMs }: ThreadEnd, fields: LogFields): void {
    const { what, logger } = this.#parts;
    const name = what[0].toUpperCase() + what.slice(1);
    if (hungSinceMs === null)
      logger.error(`${name} ended; starting a replacement`, { reason, error: error?.stack, ...fields });
    else {
      const since = new Date(hungSinceMs).toISOString();
      logger.error(`${name} is not responding; replacing it`, { reason, since, ...fields });
    }
  }

  #later(delayMs: number, run: () => void): void {
    const timer = this.#parts.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}
