import { Piscina } from 'piscina';
import { type BackoffBounds, backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { DecideResult, DecideTask } from './task.ts';
import type { ThreadMessage } from './thread-messages.ts';

/** Maximum number of batches in one thread: while one batch waits for the store, the next one is planned. */
const BATCHES_PER_THREAD = 2;

/** Delay before another attempt to start a thread that Piscina no longer restarts. */
const RESTART: BackoffBounds = { initialMs: 100, maxMs: 30_000 };

export interface KeptThreadParts {
  /** The module that the thread runs; see `workers/decide.ts`. */
  readonly module: URL;
  readonly workerData: object;
  /** Called when the thread starts or stops accepting batches. */
  readonly changed: () => void;
  readonly told: (message: ThreadMessage) => void;
  /** Called when a thread has ended, so that the locks it held can be released. May be called twice. */
  readonly ended: (threadId: number) => void;
  /** Called once when a thread has ended without having been stopped. */
  readonly lost: (threadId: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * A thread that decides batches, including its replacements. It has a Piscina of its own, which replaces a thread that
 * ends. However, Piscina stops replacing threads permanently if one of them ends before it accepts batches, for example
 * while it waits for its store. In this case another Piscina takes over after a delay.
 */
export class KeptThread {
  readonly #parts: KeptThreadParts;
  #pool: Piscina<DecideTask, DecideResult> | null = null;
  /** Id of the current thread; -1 if no thread is running. */
  #threadId = -1;
  /** True if the store of the thread responds. */
  #storeAnswers = false;
  /** True if Piscina passes batches to the thread. Before that, batches would wait inside Piscina. */
  #isCreated = false;
  #inFlight = 0;
  #attempts = 0;
  #timer: Timer | null = null;
  #stopping = false;

  constructor(parts: KeptThreadParts) {
    this.#parts = parts;
  }

  /** Whether the thread accepts batches. */
  get ready(): boolean {
    return this.#storeAnswers && this.#isCreated;
  }

  /** Whether the thread would start with a batch immediately. */
  get free(): boolean {
    return this.ready && this.#inFlight < BATCHES_PER_THREAD;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Starts the thread without waiting until it is ready. */
  start(): void {
    const { module, workerData, logger } = this.#parts;
    this.#timer = null;
    try {
      const pool = new Piscina<DecideTask, DecideResult>({
        filename: module.href,
        minThreads: 1,
        maxThreads: 1,
        concurrentTasksPerWorker: BATCHES_PER_THREAD,
        maxQueue: BATCHES_PER_THREAD,
        // A thread in `Atomics.wait` between batches would not receive messages from its connections.
        atomics: 'disabled',
        recordTiming: false,
        workerData,
      });
      this.#pool = pool;
      pool.on('message', (message: ThreadMessage) => this.#heard(message));
      // A thread that fails during a batch fails that batch. A thread that fails without a batch emits this event.
      pool.on('error', (failure: unknown) =>
        logger.error('Decision thread failed', { error: asError(failure).message }),
      );
      pool.on('workerCreate', () => {
        this.#isCreated = true;
        this.#parts.changed();
      });
      this.#watch(pool);
    } catch (failure) {
      // The operating system may refuse to create more threads.
      this.#startLater(asError(failure).message);
    }
  }

  /** Rejects if the thread ends before it has responded, or if it cannot respond. */
  async run(task: DecideTask): Promise<DecideResult> {
    if (this.#pool === null) throw new Error('the decision threads are stopped');
    this.#inFlight++;
    try {
      return await this.#pool.run(task, { transferList: [task.requests, task.answers] });
    } finally {
      this.#inFlight--;
    }
  }

  /** Stops replacing the thread, and keeps the process alive until the thread has closed its store. */
  prepareStop(): void {
    this.#stopping = true;
    this.#timer?.cancel();
    // Piscina unrefs idle threads, so the process could exit before they have ended.
    for (const worker of this.#pool?.threads ?? []) worker.ref();
  }

  /** Terminates the thread. */
  async stop(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await pool?.destroy();
  }

  #watch(pool: Piscina): void {
    const [worker] = pool.threads;
    if (worker === undefined) {
      this.#startLater('it ended before it took batches');
      return;
    }
    const { ended, lost } = this.#parts;
    const { threadId } = worker;
    this.#threadId = threadId;
    // Piscina's listeners run first: at this point Piscina has already rejected the batches and started the next
    // thread.
    worker.once('error', () => {
      ended(threadId);
      this.#left(pool, threadId);
    });
    worker.once('exit', () => {
      ended(threadId);
      if (!this.#stopping) lost(threadId);
      this.#left(pool, threadId);
    });
  }

  /** After an error the thread does no further work, although its `exit` event comes later. */
  #left(pool: Piscina, threadId: number): void {
    if (threadId !== this.#threadId) return;
    this.#threadId = -1;
    this.#storeAnswers = false;
    this.#isCreated = false;
    this.#parts.changed();
    if (!this.#stopping) this.#watch(pool);
  }

  #heard(message: ThreadMessage): void {
    const { kind, threadId } = message;
    if (threadId === this.#threadId && (kind === 'ready' || kind === 'stopped')) {
      this.#storeAnswers = kind === 'ready';
      if (this.#storeAnswers) this.#attempts = 0;
      this.#parts.changed();
    }
    this.#parts.told(message);
  }

  #startLater(reason: string): void {
    const { clock, random, logger } = this.#parts;
    const delayMs = Math.round(backoffMs(RESTART, this.#attempts++, random));
    logger.error('Decision thread could not be started; trying again', { reason, retry_in_ms: delayMs });
    void this.#pool?.destroy();
    this.#pool = null;
    this.#timer = clock.after(delayMs, () => this.start());
  }
}
