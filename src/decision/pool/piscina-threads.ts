import type { Worker } from 'node:worker_threads';
import { BroadcastChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { DecidingThreads } from './decision-pool.ts';
import type { DecideResult, DecideTask } from './task.ts';
import type { ThreadMessage } from './thread-messages.ts';

/** Batches in one thread at once: while one waits for the store, the next is planned. */
const BATCHES_PER_THREAD = 2;

/** How long a stop waits for the stores of the threads to be closed. */
const STOP_MS = 2_000;

export interface PiscinaThreadsParts {
  /** The module that each thread runs; see `workers/decide.ts`. */
  readonly module: URL;
  readonly count: number;
  /** What each thread is given at its start; `channel` is added. */
  readonly setup: object;
  /** Threads that ended although nobody asked them to. */
  readonly lost: Counter;
  readonly told: (message: ThreadMessage) => void;
  /** A thread has ended: what it held is to be let go of. May be told twice. */
  readonly ended: (threadId: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Threads that decide batches, kept by Piscina: one that ends is replaced. Nothing waits inside of it: batches are given
 * only to threads that begin with them at once.
 */
export class PiscinaThreads implements DecidingThreads, Service {
  readonly name = 'decision threads';
  readonly #parts: PiscinaThreadsParts;
  #pool: Piscina<DecideTask, DecideResult> | null = null;
  #control: BroadcastChannel | null = null;
  readonly #known = new WeakSet<Worker>();
  /** Threads that run, and whether they take batches. */
  readonly #ready = new Map<number, boolean>();
  #starting = 0;
  #inFlight = 0;
  #stopping = false;
  #allStopped: () => void = () => {};
  #waiters: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(parts: PiscinaThreadsParts) {
    this.#parts = parts;
  }

  /** While some of the first threads start, Piscina would give batches to those as well, and they would wait there. */
  get free(): boolean {
    return this.#starting === 0 && this.#inFlight < this.ready * BATCHES_PER_THREAD && !this.#stopping;
  }

  /** Threads that take batches. */
  get ready(): number {
    let ready = 0;
    for (const isReady of this.#ready.values()) if (isReady) ready++;
    return ready;
  }

  /** Resolves when so many threads take batches. */
  whenReady(count: number): Promise<void> {
    if (this.ready >= count) return Promise.resolve();
    return new Promise(resolve => this.#waiters.push({ count, resolve }));
  }

  /** Does not wait for the threads: until they are ready, this one decides everything. */
  async start(): Promise<void> {
    const { module, count, setup, logger } = this.#parts;
    const channel = `sluice decision threads ${process.pid} ${Math.random()}`;
    this.#control = new BroadcastChannel(channel);
    this.#control.unref();
    const pool = new Piscina<DecideTask, DecideResult>({
      filename: module.href,
      minThreads: count,
      maxThreads: count,
      concurrentTasksPerWorker: BATCHES_PER_THREAD,
      maxQueue: count * BATCHES_PER_THREAD,
      // A thread that sleeps between batches would not hear what its connections bring.
      atomics: 'disabled',
      recordTiming: false,
      workerData: { ...setup, channel },
    });
    this.#pool = pool;
    pool.on('message', (message: ThreadMessage) => this.#heard(message));
    // A thread that fails while it has a batch fails that; one without tells here.
    pool.on('error', (failure: unknown) =>
      logger.error('Decision thread failed', { error: asError(failure).message }),
    );
    pool.on('workerCreate', () => this.#lookForNew(pool));
    this.#lookForNew(pool);
    this.#starting = this.#ready.size;
  }

  /** Lets the threads close their stores, and ends them. */
  async stop(): Promise<void> {
    const pool = this.#pool;
    if (pool === null) return;
    this.#pool = null;
    this.#stopping = true;
    const closed = Promise.withResolvers<void>();
    this.#allStopped = closed.resolve;
    const timer = this.#parts.clock.after(STOP_MS, closed.resolve);
    if (this.ready === 0) closed.resolve();
    // Piscina lets the process end while they have nothing to do, but now they have.
    for (const worker of pool.threads) worker.ref();
    this.#control?.postMessage('stop');
    await closed.promise;
    timer.cancel();
    await pool.destroy();
    this.#control?.close();
    this.#control = null;
  }

  async run(task: DecideTask): Promise<DecideResult> {
    const pool = this.#pool;
    if (pool === null) throw new Error('the decision threads are stopped');
    this.#inFlight++;
    try {
      return await pool.run(task, { transferList: [task.requests, task.answers] });
    } finally {
      this.#inFlight--;
    }
  }

  /** Threads that were not seen before. */
  #lookForNew(pool: Piscina): void {
    for (const worker of pool.threads as Worker[]) {
      if (this.#known.has(worker)) continue;
      this.#known.add(worker);
      const { threadId } = worker;
      // A thread that replaces another is seen only when it is ready; it may have said so before.
      if (!this.#ready.has(threadId)) this.#ready.set(threadId, false);
      // It does nothing more after an error, and others may wait for what it held.
      worker.once('error', () => this.#parts.ended(threadId));
      worker.once('exit', () => this.#exited(threadId));
    }
  }

  #heard(message: ThreadMessage): void {
    const { threadId, kind } = message;
    if (kind === 'ready') {
      if (this.#ready.get(threadId) === false && this.#starting > 0) this.#starting--;
      this.#ready.set(threadId, true);
      this.#tellWaiters();
    } else if (kind === 'stopped') {
      this.#ready.set(threadId, false);
      if (this.#stopping && this.ready === 0) this.#allStopped();
    }
    this.#parts.told(message);
  }

  #tellWaiters(): void {
    const { ready } = this;
    for (const { count, resolve } of this.#waiters) if (ready >= count) resolve();
    this.#waiters = this.#waiters.filter(({ count }) => ready < count);
  }

  #exited(threadId: number): void {
    const { ended, lost, logger } = this.#parts;
    const wasReady = this.#ready.get(threadId) === true;
    if (!wasReady && this.#starting > 0) this.#starting--;
    this.#ready.delete(threadId);
    ended(threadId);
    if (this.#stopping) {
      if (this.ready === 0) this.#allStopped();
      return;
    }
    lost.add(1);
    logger.error('Decision thread exited unexpectedly', {
      threadId,
      next: wasReady ? 'it is replaced' : 'it never began',
    });
  }
}
