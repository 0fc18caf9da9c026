import { BroadcastChannel } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { DecidingThreads } from './decision-pool.ts';
import { KeptThread, type KeptThreadParts } from './kept-thread.ts';
import type { DecideResult, DecideTask } from './task.ts';

/** How long a stop waits for the stores of the threads to be closed. */
const STOP_MS = 2_000;

export interface PiscinaThreadsParts
  extends Pick<KeptThreadParts, 'module' | 'told' | 'ended' | 'clock' | 'random' | 'logger'> {
  readonly count: number;
  /** What each thread is given at its start; `channel` is added. */
  readonly setup: object;
  /** Threads that ended although nobody asked them to. */
  readonly lost: Counter;
}

/**
 * Threads that decide batches. Batches never wait for a thread: a batch is only passed to a thread that starts with it
 * immediately.
 */
export class PiscinaThreads implements DecidingThreads, Service {
  readonly name = 'decision threads';
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lost: Counter;
  readonly #threads: readonly KeptThread[];
  readonly #channel = `sluice decision threads ${process.pid} ${Math.random()}`;
  #control: BroadcastChannel | null = null;
  #stopping = false;
  #allStopped: () => void = () => {};
  #waiters: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor({ count, setup, lost, ...parts }: PiscinaThreadsParts) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#lost = lost;
    const keptThread: KeptThreadParts = {
      ...parts,
      workerData: { ...setup, channel: this.#channel },
      changed: () => this.#changed(),
      lost: threadId => this.#lostThread(threadId),
    };
    this.#threads = Array.from({ length: count }, () => new KeptThread(keptThread));
  }

  get free(): boolean {
    return !this.#stopping && this.#threads.some(thread => thread.free);
  }

  /** Threads that take batches. */
  get ready(): number {
    return this.#threads.reduce((ready, thread) => ready + Number(thread.ready), 0);
  }

  /** Resolves when so many threads take batches. */
  whenReady(count: number): Promise<void> {
    if (this.ready >= count) return Promise.resolve();
    return new Promise(resolve => this.#waiters.push({ count, resolve }));
  }

  /** Does not wait for the threads: until they are ready, this one decides everything. */
  async start(): Promise<void> {
    this.#control = new BroadcastChannel(this.#channel);
    this.#control.unref();
    for (const thread of this.#threads) thread.start();
  }

  /** Lets the threads close their stores, and ends them. */
  async stop(): Promise<void> {
    const control = this.#control;
    if (control === null) return;
    this.#control = null;
    this.#stopping = true;
    const closed = Promise.withResolvers<void>();
    this.#allStopped = closed.resolve;
    const timer = this.#clock.after(STOP_MS, closed.resolve);
    for (const thread of this.#threads) thread.prepareStop();
    if (this.ready === 0) closed.resolve();
    control.postMessage('stop');
    await closed.promise;
    timer.cancel();
    await Promise.all(this.#threads.map(thread => thread.stop()));
    control.close();
  }

  /** Passes a batch to the thread with the fewest batches. Call only while one is {@link free}. */
  async run(task: DecideTask): Promise<DecideResult> {
    let chosen: KeptThread | null = null;
    for (const thread of this.#threads) {
      if (thread.free && (chosen === null || thread.inFlight < chosen.inFlight)) chosen = thread;
    }
    if (chosen === null) throw new Error('no decision thread takes batches');
    return await chosen.run(task);
  }

  #changed(): void {
    const { ready } = this;
    if (this.#stopping && ready === 0) this.#allStopped();
    for (const { count, resolve } of this.#waiters) if (ready >= count) resolve();
    this.#waiters = this.#waiters.filter(({ count }) => ready < count);
  }

  #lostThread(threadId: number): void {
    this.#lost.add(1);
    this.#logger.error('Decision thread exited unexpectedly; another one replaces it', { threadId });
  }
}
