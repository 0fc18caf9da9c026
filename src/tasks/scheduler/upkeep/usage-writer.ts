import { Fault } from '../../../base/fault.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { TakenUsage, UsageCounts } from '../../store/usage-counts.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { Rounds } from './rounds.ts';

/** Interval between two writes. A crash loses what was counted since the last one. */
export const WRITE_USAGE_EVERY_MS = 10_000;
/** Maximum number of tenants that are written at the same time. */
const TENANTS_AT_ONCE = 16;
/** With more failures the store is unavailable, and the rest waits for the next round. */
const MAX_FAILURES = 10;

/**
 * Writes the usage that a thread has counted to the store: one operation for each tenant with something new. All threads
 * and processes add to the same figures.
 */
export class UsageWriter implements Service {
  readonly name = 'usage';
  readonly #thread: ThreadPart<'addUsage', 'clock' | 'logger'>;
  readonly #usage: UsageCounts;
  readonly #rounds: Rounds;

  constructor(thread: ThreadPart<'addUsage', 'clock' | 'logger'>, usage: UsageCounts) {
    this.#thread = thread;
    this.#usage = usage;
    this.#rounds = new Rounds({
      ...thread,
      name: 'usage of tenants',
      waitMs: WRITE_USAGE_EVERY_MS,
      firstWaitMs: WRITE_USAGE_EVERY_MS,
      round: () => this.#write(),
    });
  }

  start(): Promise<void> {
    return this.#rounds.start();
  }

  /** Writes what was counted last. If the store fails, it is lost. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#write().catch(() => {});
  }

  /** @throws (rejects with) Fault of the first tenant that failed */
  async #write(): Promise<void> {
    const failures: unknown[] = [];
    await forEachLimited(this.#usage.take(), TENANTS_AT_ONCE, async taken => {
      if (failures.length >= MAX_FAILURES) this.#usage.giveBack(taken);
      else await this.#add(taken).catch(failure => failures.push(failure));
    });
    if (failures.length > 0) throw failures[0];
  }

  async #add(taken: TakenUsage): Promise<void> {
    const { store } = this.#thread;
    try {
      await store.addUsage(taken.tenant, taken.increments);
    } catch (failure) {
      // After other failures it may have been added, and twice is worse than not at all.
      if (failure instanceof Fault && failure.code === 'overloaded') this.#usage.giveBack(taken);
      throw failure;
    }
  }
}
