import type { Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { SettleAnswer, Settlement } from '../../store/requests.ts';
import { isOutage, type StoreOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** One attempt that has ended. */
export interface EndedAttempt {
  readonly settlement: Settlement;
  /** End of the lease, by the clock of the store. After it, the reaper ends the attempt, and the result is too late. */
  readonly leaseUntil: number;
  /** Called once: with the answer of the store, or with null if the result could not be stored in time. */
  readonly onRecorded: (answer: SettleAnswer | null) => void;
  /** The store did not answer the claim of the attempt, so the attempt may not exist. */
  readonly uncertain?: true;
}

/** Results that arrive within this time are written together. */
const WINDOW_MS = 5;
const MAX_BATCH = 64;

/**
 * Delay until failed writes of a tenant are retried. They are also retried as soon as an outage of the store is over. During
 * an outage, results whose lease has expired are dropped this often.
 */
const RETRY_MS = 1_000;

/**
 * Writes the results of attempts to the store in batches. During an outage results are held, and written when the store is
 * available again, unless their lease has expired.
 */
export class Settler {
  readonly #thread: ThreadPart<'settle', 'clock' | 'logger'>;
  readonly #outage: StoreOutage;
  readonly #maxUncertain: number;
  /** Results that wait to be written, by tenant; lists are never empty. */
  readonly #waiting = new Map<string, EndedAttempt[]>();
  /** Number of results in `#waiting`. */
  #held = 0;
  /** Number of results in writes that the store has not answered. */
  #writing = 0;
  /** Number of uncertain attempts, held or being written. */
  #uncertain = 0;
  #timer: Timer | null = null;
  #timerAtMs = 0;
  /** Tenants whose results could not be written, and when to retry. */
  readonly #retryAtMs = new Map<string, number>();
  #empty: (() => void) | null = null;
  #stopped = false;

  /** @param maxUncertain maximum number of uncertain attempts that are held; the leases of further ones expire */
  constructor(thread: ThreadPart<'settle', 'clock' | 'logger'>, outage: StoreOutage, maxUncertain: number) {
    this.#thread = thread;
    this.#outage = outage;
    this.#maxUncertain = maxUncertain;
    outage.onOver(() => {
      this.#retryAtMs.clear();
      this.#writeAll();
    });
  }

  /**
   * Number of ended attempts whose results are not stored yet. Uncertain attempts are not counted: while a part of the
   * store is unavailable, they must not take up the room of results for the other parts.
   */
  get unstored(): number {
    return this.#pending - this.#uncertain;
  }

  get #pending(): number {
    return this.#held + this.#writing;
  }

  add(tenant: string, ended: EndedAttempt): void {
    if (ended.uncertain) this.#uncertain++;
    if (this.#stopped || (ended.uncertain && this.#uncertain > this.#maxUncertain)) {
      this.#giveUp([ended]);
      return;
    }
    this.#hold(tenant, [ended]);
    const waits = this.#outage.down || this.#isLater(tenant);
    if (!waits && (this.#waiting.get(tenant)?.length ?? 0) >= MAX_BATCH) this.#write(tenant);
    this.#arm(waits ? RETRY_MS : WINDOW_MS);
  }

  /** Writes all held results. Gives up on the remaining ones after `boundMs`. */
  async stop(boundMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bound = this.#thread.clock.after(boundMs, resolve);
    this.#empty = resolve;
    this.#retryAtMs.clear();
    this.#writeAll();
    if (this.#pending > 0) await promise;
    bound.cancel();
    this.#stopped = true;
    this.#timer?.cancel();
    for (const list of this.#waiting.values()) this.#giveUp(list);
    this.#waiting.clear();
    this.#held = 0;
  }

  #arm(delayMs: number): void {
    if (this.#held === 0) return;
    const { clock } = this.#thread;
    const atMs = clock.nowMs() + delayMs;
    if (this.#timer !== null && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = clock.after(delayMs, () => {
      this.#timer = null;
      if (this.#outage.down) this.#dropOverdue();
      else this.#writeAll();
    });
  }

  #hold(tenant: string, ended: readonly EndedAttempt[]): void {
    const list = this.#waiting.get(tenant);
    if (list === undefined) this.#waiting.set(tenant, [...ended]);
    else list.push(...ended);
    this.#held += ended.length;
  }

  #writeAll(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const tenant of [...this.#waiting.keys()]) if (!this.#isLater(tenant)) this.#write(tenant);
    this.#arm(RETRY_MS);
  }

  #isLater(tenant: string): boolean {
    const atMs = this.#retryAtMs.get(tenant);
    if (atMs === undefined) return false;
    const leftMs = atMs - this.#thread.clock.nowMs();
    // A clock that is set back must not make it last.
    if (leftMs > 0 && leftMs <= RETRY_MS) return true;
    this.#retryAtMs.delete(tenant);
    return false;
  }

  #write(tenant: string): void {
    const list = this.#waiting.get(tenant);
    if (list === undefined) return;
    this.#waiting.delete(tenant);
    this.#held -= list.length;
    for (let from = 0; from < list.length; from += MAX_BATCH) {
      void this.#writeBatch(tenant, list.slice(from, from + MAX_BATCH));
    }
  }

  async #writeBatch(tenant: string, batch: readonly EndedAttempt[]): Promise<void> {
    const { store } = this.#thread;
    this.#writing += batch.length;
    try {
      const answers = await store.settle(
        tenant,
        batch.map(({ settlement }) => settlement),
      );
      this.#outage.answered();
      this.#writing -= batch.length;
      batch.forEach((ended, at) => {
        this.#end(ended, answers[at]);
      });
    } catch (failure) {
      this.#writing -= batch.length;
      // The answer may arrive after the stop has given up waiting for it.
      if (this.#stopped) this.#giveUp(batch);
      else if (isOutage(failure)) {
        this.#outage.failed();
        this.#holdAgain(tenant, batch);
      } else this.#refused(tenant, batch, failure);
    }
    if (this.#pending === 0) this.#empty?.();
  }

  /** A bug with one attempt must not keep the other results of its batch from being written. */
  #refused(tenant: string, batch: readonly EndedAttempt[], failure: unknown): void {
    if (batch.length > 1) {
      for (const ended of batch) void this.#writeBatch(tenant, [ended]);
      return;
    }
    this.#thread.logger.error(
      'Could not record the result of an attempt; the task will be retried when its lease expires',
      {
        tenant,
        reason: asError(failure).message,
      },
    );
    this.#end(batch[0], null);
  }

  #holdAgain(tenant: string, batch: readonly EndedAttempt[]): void {
    const nowMs = this.#thread.clock.nowMs();
    const kept = batch.filter(({ leaseUntil }) => leaseUntil > nowMs);
    this.#giveUp(batch.filter(({ leaseUntil }) => leaseUntil <= nowMs));
    if (kept.length > 0) this.#hold(tenant, kept);
    this.#retryAtMs.set(tenant, this.#thread.clock.nowMs() + RETRY_MS);
    this.#arm(RETRY_MS);
  }

  #dropOverdue(): void {
    const nowMs = this.#thread.clock.nowMs();
    for (const [tenant, list] of this.#waiting) {
      const over = list.filter(({ leaseUntil }) => leaseUntil <= nowMs);
      if (over.length === 0) continue;
      const kept = list.filter(({ leaseUntil }) => leaseUntil > nowMs);
      if (kept.length === 0) this.#waiting.delete(tenant);
      else this.#waiting.set(tenant, kept);
      this.#held -= over.length;
      this.#giveUp(over);
    }
    this.#arm(RETRY_MS);
  }

  #giveUp(list: readonly EndedAttempt[]): void {
    const count = list.filter(({ uncertain }) => !uncertain).length;
    if (count > 0) {
      this.#thread.logger.warning(
        'Could not record the results of attempts while the task store was unavailable; their tasks will be retried when the leases expire',
        {
          count,
        },
      );
    }
    for (const ended of list) this.#end(ended, null);
  }

  #end({ onRecorded, uncertain }: EndedAttempt, answer: SettleAnswer | null): void {
    if (uncertain) this.#uncertain--;
    onRecorded(answer);
  }
}
