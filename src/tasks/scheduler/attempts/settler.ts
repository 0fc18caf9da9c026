import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { SettleAnswer, Settlement } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { isOutage, type StoreOutage } from '../health/store-outage.ts';

/** One attempt that has ended. */
export interface EndedAttempt {
  readonly settlement: Settlement;
  /** Until when the store may be told, by its clock: after that the attempt belongs to whoever reaps leases. */
  readonly leaseUntil: number;
  /** Called once: with what the store says; null when it could not be told in time. */
  readonly told: (answer: SettleAnswer | null) => void;
  /** Nobody knows whether there is such an attempt: its claim was not answered. */
  readonly unheard?: true;
}

interface SettlerParts {
  readonly store: Pick<TaskStore, 'settle'>;
  readonly outage: StoreOutage;
  /** So many attempts that there may be are held, beside those that there were; the leases of others run out. */
  readonly maxUnheard: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What ends within this time is told together. */
const WINDOW_MS = 5;
const MAX_BATCH = 64;

/**
 * What the store could not be told of a tenant is told again after so long, or when all of the store was away and is
 * back. While it is away, outcomes whose lease is over are looked for this often.
 */
const RETRY_MS = 1_000;

/**
 * Tells the store how attempts ended, several at a time. While the store fails they are held, and told again when it
 * answers, until their lease is over.
 */
export class Settler {
  readonly #parts: SettlerParts;
  /** By tenant; never empty lists. */
  readonly #waiting = new Map<string, EndedAttempt[]>();
  #held = 0;
  #telling = 0;
  /** Of both. */
  #unheard = 0;
  #timer: Timer | null = null;
  #timerAtMs = 0;
  /** Tenants of which the store could not be told, and when it is tried again. */
  readonly #retryAtMs = new Map<string, number>();
  #empty: (() => void) | null = null;
  #stopped = false;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
    parts.outage.onOver(() => {
      this.#retryAtMs.clear();
      this.#tellAll();
    });
  }

  /**
   * Attempts that have ended, and of which the store has not heard yet. Those that there may be are left out: where a
   * part of the store is away, they must not take the room of what the other parts have.
   */
  get outcomes(): number {
    return this.#pending - this.#unheard;
  }

  get #pending(): number {
    return this.#held + this.#telling;
  }

  add(tenant: string, ended: EndedAttempt): void {
    if (ended.unheard) this.#unheard++;
    if (this.#stopped || (ended.unheard && this.#unheard > this.#parts.maxUnheard)) {
      this.#giveUp([ended]);
      return;
    }
    this.#hold(tenant, [ended]);
    const waits = this.#parts.outage.down || this.#isLater(tenant);
    if (!waits && (this.#waiting.get(tenant)?.length ?? 0) >= MAX_BATCH) this.#tell(tenant);
    this.#arm(waits ? RETRY_MS : WINDOW_MS);
  }

  /** Tells all that waits. Ends when all is told, or after `boundMs` without what the store could not be told. */
  async stop(boundMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bound = this.#parts.clock.after(boundMs, resolve);
    this.#empty = resolve;
    this.#retryAtMs.clear();
    this.#tellAll();
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
    const { clock, outage } = this.#parts;
    const atMs = clock.nowMs() + delayMs;
    if (this.#timer !== null && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = clock.after(delayMs, () => {
      this.#timer = null;
      if (outage.down) this.#dropOverdue();
      else this.#tellAll();
    });
  }

  #hold(tenant: string, ended: readonly EndedAttempt[]): void {
    const list = this.#waiting.get(tenant);
    if (list === undefined) this.#waiting.set(tenant, [...ended]);
    else list.push(...ended);
    this.#held += ended.length;
  }

  #tellAll(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const tenant of [...this.#waiting.keys()]) if (!this.#isLater(tenant)) this.#tell(tenant);
    this.#arm(RETRY_MS);
  }

  #isLater(tenant: string): boolean {
    const atMs = this.#retryAtMs.get(tenant);
    if (atMs === undefined) return false;
    const leftMs = atMs - this.#parts.clock.nowMs();
    // A clock that is set back must not make it last.
    if (leftMs > 0 && leftMs <= RETRY_MS) return true;
    this.#retryAtMs.delete(tenant);
    return false;
  }

  #tell(tenant: string): void {
    const list = this.#waiting.get(tenant);
    if (list === undefined) return;
    this.#waiting.delete(tenant);
    this.#held -= list.length;
    for (let from = 0; from < list.length; from += MAX_BATCH) {
      void this.#tellBatch(tenant, list.slice(from, from + MAX_BATCH));
    }
  }

  async #tellBatch(tenant: string, batch: readonly EndedAttempt[]): Promise<void> {
    const { store, outage } = this.#parts;
    this.#telling += batch.length;
    try {
      const answers = await store.settle(
        tenant,
        batch.map(({ settlement }) => settlement),
      );
      outage.answered();
      this.#telling -= batch.length;
      batch.forEach((ended, at) => {
        this.#end(ended, answers[at]);
      });
    } catch (failure) {
      this.#telling -= batch.length;
      // The store may go on answering after the stop has not waited for it any longer.
      if (this.#stopped) this.#giveUp(batch);
      else if (isOutage(failure)) {
        outage.failed(failure);
        this.#holdAgain(tenant, batch);
      } else this.#refused(tenant, batch, failure);
    }
    if (this.#pending === 0) this.#empty?.();
  }

  /** A defect with one attempt must not keep the others of its batch from being told. */
  #refused(tenant: string, batch: readonly EndedAttempt[], failure: unknown): void {
    if (batch.length > 1) {
      for (const ended of batch) void this.#tellBatch(tenant, [ended]);
      return;
    }
    this.#parts.logger.error(
      'Could not record the result of an attempt; the task will be retried when its lease expires',
      {
        tenant,
        reason: asError(failure).message,
      },
    );
    this.#end(batch[0], null);
  }

  #holdAgain(tenant: string, batch: readonly EndedAttempt[]): void {
    const nowMs = this.#parts.clock.nowMs();
    const kept = batch.filter(({ leaseUntil }) => leaseUntil > nowMs);
    this.#giveUp(batch.filter(({ leaseUntil }) => leaseUntil <= nowMs));
    if (kept.length > 0) this.#hold(tenant, kept);
    this.#retryAtMs.set(tenant, this.#parts.clock.nowMs() + RETRY_MS);
    this.#arm(RETRY_MS);
  }

  #dropOverdue(): void {
    const nowMs = this.#parts.clock.nowMs();
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
    const count = list.filter(({ unheard }) => !unheard).length;
    if (count > 0) {
      this.#parts.logger.warning(
        'Could not record the results of attempts while the task store was unavailable; their tasks will be retried when the leases expire',
        {
          count,
        },
      );
    }
    for (const ended of list) this.#end(ended, null);
  }

  #end({ told, unheard }: EndedAttempt, answer: SettleAnswer | null): void {
    if (unheard) this.#unheard--;
    told(answer);
  }
}
