import { Piscina } from 'piscina';
import { type BackoffBounds, backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { DecideResult, DecideTask } from './task.ts';
import type { ThreadMessage } from './thread-messages.ts';

/** Batches in one thread at once: while one waits for the store, the next is planned. */
const BATCHES_PER_THREAD = 2;

/** Delays before another attempt to start a thread that Piscina has given up. */
const RESTART: BackoffBounds = { initialMs: 100, maxMs: 30_000 };

export interface KeptThreadParts {
  /** The module that the thread runs; see `workers/decide.ts`. */
  readonly module: URL;
  readonly workerData: object;
  /** The thread takes batches now, or does not any more. */
  readonly changed: () => void;
  readonly told: (message: ThreadMessage) => void;
  /** A thread has ended: what it held is to be released. May be told twice. */
  readonly ended: (threadId: number) => void;
  /** A thread has ended although nobody asked it to; told once. */
  readonly lost: (threadId: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * A thread that decides batches, and its successors. It has a Piscina of its own, which replaces a thread that ends. But
 * Piscina stops replacing threads for good once one of them ends before it takes batches, and a thread may well end while
 * it waits for its store. Then another Piscina takes over, after a delay.
 */
export class KeptThread {
  readonly #parts: KeptThreadParts;
  #pool: Piscina<DecideTask, DecideResult> | null = null;
  /** The present thread; -1 while there is none. */
  #threadId = -1;
  /** The store of the thread has answered. */
  #storeAnswers = false;
  /** Piscina gives the thread batches. Before that they would wait inside of Piscina. */
  #isCreated = false;
  #inFlight = 0;
  #attempts = 0;
  #timer: Timer | null = null;
  #stopping = false;

  constructor(parts: KeptThreadParts) {
    this.#parts = parts;
  }

  /** Whether the thread takes batches. */
  get ready(): boolean {
    return this.#storeAnswers && this.#isCreated;
  }

  /** Whether it would begin with a batch at once. */
  get free(): boolean {
    return this.ready && this.#inFlight < BATCHES_PER_THREAD;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Starts the thread, and does not wait until it is ready. */
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
        // A thread that sleeps between batches would not notice what its connections bring.
        atomics: 'disabled',
        recordTiming: false,
        workerData,
      });
      this.#pool = pool;
      pool.on('message', (message: ThreadMessage) => this.#heard(message));
      // A thread that fails while it has a batch fails that batch; one without tells here.
      pool.on('error', (failure: unknown) =>
        logger.error('Decision thread failed', { error: asError(failure).message }),
      );
      pool.on('workerCreate', () => {
        this.#isCreated = true;
        this.#parts.changed();
      });
      this.#watch(pool);
    } catch (failure) {
      // The system may refuse further threads.
      this.#startLater(asError(failure).message);
    }
  }

  /** Rejects when the thread ends before it has answered, and when it cannot answer. */
  async run(task: DecideTask): Promise<DecideResult> {
    if (this.#pool === null) throw new Error('the decision threads are stopped');
    this.#inFlight++;
    try {
      return await this.#pool.run(task, { transferList: [task.requests, task.answers] });
    } finally {
      this.#inFlight--;
    }
  }

  /** Starts no other thread from now on, and keeps the process from ending before the thread has closed its store. */
  prepareStop(): void {
    this.#stopping = true;
    this.#timer?.cancel();
    // Piscina lets the process end while its threads have nothing to do.
    for (const worker of this.#pool?.threads ?? []) worker.ref();
  }

  /** Ends the thread at once. */
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
    // Piscina's listeners run first: by now it has rejected the batches, and started the next thread.
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

  /** After an error the thread does nothing more, although its end comes later. */
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
