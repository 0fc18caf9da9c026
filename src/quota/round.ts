import { asError } from '../base/fault.ts';
import { REFUSED } from '../counters/admission/admission.ts';
import { type DecisionBatch, KIND } from '../decision/batch.ts';
import type { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { addTotal } from '../decision/statistics/shared-totals.ts';
import type { DescriptorEntry } from '../messages/client-codec.ts';
import { RULE_STAT } from '../stats/names.ts';
import { Allotment, type Allotted, moreBy, type Wish, wishOf } from './allotment.ts';
import { requestsFor } from './bucket-requests.ts';
import type { BoardOps, DemandBoard } from './demand-board.ts';
import { endAfter } from './grant.ts';
import type { Payments } from './payments.ts';
import { boundsOf, lookAt, plannedLimits } from './planned-limits.ts';
import { type PrepaidLimit, type PrepaidWindow, ROUNDING, roomIn } from './prepaid-limit.ts';
import type { BucketRequests, QuotaBucket } from './quota-bucket.ts';
import type { Subscriber, Usage } from './subscriber.ts';

/** A payment in a window of a limit. */
interface Payment {
  readonly limit: PrepaidLimit;
  readonly window: PrepaidWindow;
  readonly row: number;
  readonly hits: number;
  /** Hits that proxies have used already. They count in any case. */
  readonly owed: number;
}

/** A batch of payments. */
interface Paying {
  readonly batch: DecisionBatch;
  readonly payments: Payment[];
  /** What it asks the board. */
  readonly asked: readonly (BoardOps | null)[];
}

/** What a bucket needs of a round, beside its own state. */
interface Turn {
  readonly bucket: QuotaBucket;
  readonly requests: BucketRequests;
  readonly wishes: Wish[];
  /** The proxies that get one answer for all requests. */
  readonly blanket: Subscriber[];
  /** By limit: up to when its windows are paid for in this round. */
  readonly paidUntilMs: number[];
}

/** Requests that a proxy has decided by itself, as it reports them. */
export interface ReportedUsage {
  readonly domain: string;
  /** In the order in which rules match them. */
  readonly entries: readonly DescriptorEntry[];
  readonly allowed: number;
  readonly denied: number;
  /** The time between this report and the one before, in milliseconds. */
  readonly spanMs: number;
}

/** Sees what proxies report, as an observer of decisions sees those of Sluice. */
export interface UsageObserver {
  /** Whether it wants to see anything. */
  readonly isActive: boolean;
  observe(usages: readonly ReportedUsage[], nowMs: number): void;
}

/** Gives a proxy of a bucket what it gets. */
export type Give = (bucket: QuotaBucket, allotted: Allotted, wish: Wish) => void;

/** What a round needs. */
interface RoundParts {
  readonly payments: Payments;
  readonly generation: RuleGeneration;
  /** Whether all limits are in shadow mode. */
  readonly isShadow: boolean;
  readonly nowMs: number;
  readonly board: DemandBoard;
  readonly observer: UsageObserver;
}

/**
 * One round for some buckets: looks at their limits and at what proxies have reported, pays for what the proxies should get,
 * divides what could be paid, and gives the rest back.
 */
export class Round {
  readonly #parts: RoundParts;
  readonly #turns: readonly Turn[];
  readonly #usages: ReportedUsage[] = [];

  constructor(parts: RoundParts, buckets: readonly QuotaBucket[]) {
    this.#parts = parts;
    this.#turns = buckets.map(bucket => {
      const requests = requestsFor(parts.generation, bucket);
      return { bucket, requests, wishes: [], blanket: [], paidUntilMs: [] };
    });
  }

  /**
   * Pays for what the proxies should get. Does nothing for what the store fails to count.
   *
   * @throws (rejects with) Fault `store_failed` if a part of the payments failed
   */
  async pay(): Promise<void> {
    const paying = [this.#look(), ...this.#payAhead()];
    const counted = await Promise.allSettled(paying.map(each => this.#count(each)));
    const failed = counted.find(each => each.status === 'rejected');
    if (failed !== undefined) throw asError(failed.reason);
  }

  /**
   * Divides what is paid. Calls `give` for each proxy that waits for its share and that is still there, and `answer` for each
   * one whose bucket has one answer for all requests.
   */
  divide(give: Give, answer: (bucket: QuotaBucket, subscriber: Subscriber) => void): void {
    for (const { bucket, wishes, blanket } of this.#turns) {
      const isThere = (subscriber: Subscriber) => bucket.subscribers.has(subscriber);
      for (const subscriber of blanket.filter(isThere)) answer(bucket, subscriber);
      const present = wishes.filter(({ subscriber }) => isThere(subscriber));
      if (present.length === 0) continue;
      const allotment = new Allotment(bucket, this.#parts.nowMs);
      allotment.divide(present, (allotted, wish) => give(bucket, allotted, wish));
    }
  }

  /** Instead of {@link divide}, if it is too late: the proxies wait for a round in the next tick. */
  postpone(): void {
    for (const { bucket, wishes, blanket } of this.#turns) {
      const waiting = [...wishes.map(({ subscriber }) => subscriber), ...blanket];
      for (const subscriber of waiting)
        if (bucket.subscribers.has(subscriber)) bucket.waiting.add(subscriber);
      bucket.retryMs = Math.min(bucket.retryMs, this.#parts.nowMs);
    }
  }

  /** Shows what was reported. For after the answers. */
  show(): void {
    if (this.#usages.length > 0) this.#parts.observer.observe(this.#usages, this.#parts.nowMs);
  }

  /** Gives back what was paid and what no proxy can use. @throws (rejects with) Fault `store_failed` */
  async giveBack(): Promise<void> {
    const times = new Map<number, Set<Turn>>();
    for (const turn of this.#turns)
      for (const { windows } of turn.bucket.limits)
        for (const window of windows)
          if (window.toMs > this.#parts.nowMs && unneededIn(window) + window.excess > 0) {
            const timeMs = Math.max(window.fromMs, this.#parts.nowMs);
            times.set(timeMs, (times.get(timeMs) ?? new Set()).add(turn));
          }
    await Promise.all([...times].map(([timeMs, turns]) => this.#refund(timeMs, [...turns])));
  }

  async #refund(timeMs: number, turns: readonly Turn[]): Promise<void> {
    const { payments } = this.#parts;
    const requests = turns.map(turn => turn.requests.refunding);
    const batch = this.#plan(requests, timeMs, (planned, request) => {
      const { bucket } = turns[request];
      this.#eachLimit(planned, request, bucket, (limit, row) => {
        const { fromMs } = boundsOf(planned, row);
        const window = limit.windows.find(each => each.fromMs === fromMs);
        return window === undefined ? null : takeUnneeded(window);
      });
    });
    try {
      await payments.count(batch);
    } finally {
      payments.release(batch);
    }
  }

  /** Looks at the present windows of all buckets, and pays in them. */
  #look(): Paying {
    const payments: Payment[] = [];
    const requests = this.#turns.map(turn => turn.requests.asking);
    const batch = this.#plan(requests, this.#parts.nowMs, (planned, request) => {
      const turn = this.#turns[request];
      this.#lookAt(turn, planned, request);
      this.#eachLimit(planned, request, turn.bucket, (limit, row, i) => {
        const window = turn.bucket.window(limit, limit.facts, this.#parts.nowMs);
        turn.paidUntilMs[i] = window.toMs;
        return this.#payIn(turn, { limit, window, row }, payments);
      });
    });
    const { board, nowMs } = this.#parts;
    const asked = this.#turns.map(({ bucket }) => board.ask(batch.counters, bucket, nowMs));
    return { batch, payments, asked };
  }

  #lookAt({ bucket, wishes, blanket }: Turn, batch: DecisionBatch, row: number): void {
    const { nowMs, observer } = this.#parts;
    const { reported } = bucket;
    if (observer.isActive) this.#collect(bucket);
    const { rows, waiting } = lookAt(bucket, batch, row, this.#parts);
    for (const limitRow of rows) countUsage(batch, limitRow, reported);
    for (const subscriber of waiting)
      if (bucket.verdict === 'divided') wishes.push(wishOf(bucket, subscriber, nowMs));
      else blanket.push(subscriber);
  }

  /** Collects what the proxies of a bucket have reported. */
  #collect({ domain, descriptor: entries, waiting }: QuotaBucket): void {
    for (const { allowed, denied, usage } of waiting)
      if (allowed + denied > 0)
        this.#usages.push({ domain, entries, allowed, denied, spanMs: usage.intervalMs });
  }

  /** Pays in the windows that grants reach later, in the order of their times. */
  #payAhead(): Paying[] {
    const paying: Paying[] = [];
    for (;;) {
      const nextMs = this.#turns.map(turn => this.#nextMs(turn));
      const timeMs = Math.min(...nextMs);
      if (timeMs === Number.POSITIVE_INFINITY) return paying;
      paying.push(
        this.#payAt(
          timeMs,
          this.#turns.filter((_, i) => nextMs[i] === timeMs),
        ),
      );
    }
  }

  #payAt(timeMs: number, turns: readonly Turn[]): Paying {
    const payments: Payment[] = [];
    const requests = turns.map(turn => turn.requests.asking);
    const batch = this.#plan(requests, timeMs, (planned, request) => {
      const turn = turns[request];
      this.#eachLimit(planned, request, turn.bucket, (limit, row, i) => {
        if (turn.paidUntilMs[i] !== timeMs) return null;
        const bounds = boundsOf(planned, row);
        const window = turn.bucket.window(limit, bounds, this.#parts.nowMs);
        turn.paidUntilMs[i] = window.toMs;
        return this.#payIn(turn, { limit, window, row }, payments);
      });
    });
    // If a ban was published after the look, the window cannot be paid for, so nothing is granted that reaches it.
    for (const turn of turns)
      if (turn.paidUntilMs.includes(timeMs)) {
        turn.wishes.length = 0;
        turn.paidUntilMs.length = 0;
      }
    return { batch, payments, asked: [] };
  }

  /** When the next window begins that must be paid for, because grants of the bucket reach it. Infinite if all are paid. */
  #nextMs(turn: Turn): number {
    const { bucket, paidUntilMs, wishes } = turn;
    let nextMs = Number.POSITIVE_INFINITY;
    if (wishes.length === 0) return nextMs;
    const endMs = endAfter(this.#parts.nowMs, bucket.ttlS);
    for (const [i, limit] of bucket.limits.entries()) {
      if (!limit.refuses) continue;
      for (;;) {
        const known = limit.windows.find(window => window.fromMs === paidUntilMs[i]);
        if (known === undefined || this.#missing(turn, limit, known) > 0) break;
        paidUntilMs[i] = known.toMs;
      }
      if (paidUntilMs[i] < endMs) nextMs = Math.min(nextMs, paidUntilMs[i]);
    }
    return nextMs;
  }

  /** Adds a payment for a window. Returns the hits to count: 0 to ask how many are left; null if nothing has to be paid. */
  #payIn(
    turn: Turn,
    { limit, window, row }: Pick<Payment, 'limit' | 'window' | 'row'>,
    payments: Payment[],
  ): number | null {
    const missing = this.#missing(turn, limit, window);
    if (missing <= 0) return null;
    const owed = owedIn(window);
    const left = Number.isNaN(window.left) ? limit.facts.grantable : window.left;
    const wanted = Math.min(missing, left);
    const hits = limit.hasLevel ? wanted : Math.max(owed, wanted);
    payments.push({ limit, window, row, hits, owed: Math.min(owed, hits) });
    return hits;
  }

  /** Hits that have to be paid in a window so that the wishes of the bucket can be fulfilled. */
  #missing({ wishes }: Turn, limit: PrepaidLimit, window: PrepaidWindow): number {
    if (!limit.refuses) return owedIn(window);
    let missing = -roomIn(window);
    for (const wish of wishes) missing += moreBy(wish, window);
    return Math.ceil(missing - ROUNDING);
  }

  /**
   * Calls `pay` for each limit of a bucket, and counts the hits that it returns. Of limits for which it returns null,
   * nothing is counted.
   */
  #eachLimit(
    batch: DecisionBatch,
    request: number,
    { limits }: QuotaBucket,
    pay: (limit: PrepaidLimit, row: number, i: number) => number | null,
  ): void {
    const { decisions } = batch;
    const { rows } = plannedLimits(batch, request, this.#parts.isShadow);
    if (rows.length === 0) decisions.kind[request] = KIND.none;
    for (const [i, row] of rows.entries()) {
      const hits = i < limits.length ? pay(limits[i], row, i) : null;
      if (hits === null) decisions.kind[row] = KIND.none;
      else decisions.hits[row] = hits;
    }
  }

  async #count({ batch, payments, asked }: Paying): Promise<void> {
    try {
      await this.#parts.payments.count(batch);
      for (const payment of payments) settle(batch, payment);
      for (const ops of asked) if (ops !== null) this.#parts.board.answer(batch.counters, ops);
    } finally {
      this.#parts.payments.release(batch);
    }
  }

  #plan(
    requests: readonly Uint8Array[],
    timeMs: number,
    choice: (batch: DecisionBatch, request: number) => void,
  ): DecisionBatch {
    const { payments, generation, nowMs } = this.#parts;
    return payments.plan(requests, generation, timeMs, nowMs, choice);
  }
}

/** Counts reports in the statistics of a limit, as the requests that they are. */
function countUsage({ decisions }: DecisionBatch, row: number, { allowed, denied }: Usage): void {
  const totals = decisions.statistics[row];
  const base = decisions.statisticsBase[row];
  addTotal(totals, base + RULE_STAT.totalHits, allowed + denied);
  addTotal(totals, base + RULE_STAT.withinLimit, allowed);
  addTotal(totals, base + RULE_STAT.overLimit, denied);
}

/** Hits that proxies have used in a window and that are not paid. */
function owedIn({ spent, paid }: PrepaidWindow): number {
  return Math.max(0, Math.ceil(spent) - paid);
}

/** Hits that are paid in a window and that no proxy can use. */
function unneededIn(window: PrepaidWindow): number {
  return Math.max(0, Math.floor(roomIn(window) + ROUNDING));
}

/** Returns the hits to give back, which are not paid any more. */
function takeUnneeded(window: PrepaidWindow): number | null {
  const unneeded = unneededIn(window);
  const hits = unneeded + window.excess;
  if (hits === 0) return null;
  window.paid -= unneeded;
  window.excess = 0;
  window.left += hits;
  return hits;
}

/** Takes over what the store says of a payment. */
function settle({ decisions, counters }: DecisionBatch, { limit, window, row, hits, owed }: Payment): void {
  const op = decisions.op[row];
  const after = counters.opAfters[op];
  if (Number.isNaN(after)) return;
  const { grantable, total } = limit.facts;
  if (limit.hasLevel) {
    if (counters.opRefused[op] === REFUSED.no) window.paid += hits;
    window.left = Math.max(0, decisions.terms[row]!.leftAt(after) - Math.max(0, total - grantable));
    return;
  }
  const got = Math.max(owed, hits - Math.min(hits, Math.max(0, after - grantable)));
  window.paid += got;
  window.excess += hits - got;
  window.left = Math.max(0, grantable - (after - (hits - got)));
}
