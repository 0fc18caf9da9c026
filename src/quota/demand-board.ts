import { SECOND_MS } from '../base/clock.ts';
import { type CounterBatch, NEVER_FULL } from '../counters/batch.ts';
import { HEADROOM } from './allotment.ts';
import type { QuotaBucket } from './quota-bucket.ts';

/** How often instances write what their proxies want. */
const INTERVAL_MS = SECOND_MS;

/** How long a sum is kept, in seconds. */
const KEPT_S = 10;

/** The part of the rate of a bucket from which on an instance writes what its proxies want. */
const LEAST_PART = 0.01;

/** A sum is one number: the proxies that want more than the present cap, in units of this, and what the others want. */
const UNIT = 2 ** 32;

/** The ops of a bucket in a batch: the sum of this interval, to which they add, and that of the one before. */
export interface BoardOps {
  readonly bucket: QuotaBucket;
  readonly before: number;
}

/**
 * Finds the same cap on the rate of a proxy in all instances, so that they divide a bucket by max-min fairness: nobody may
 * have more than the cap, and with it, all together want what there is.
 *
 * In each interval, every instance adds two sums to a counter: how many of its proxies want more than the cap, and the rates
 * that the others want. When the interval is over, all of them derive the next cap from the total. Without changes of the
 * demand, this is Newton's method for a concave function of straight lines, which ends after a few steps.
 *
 * The caps are only about fairness. Whether a limit holds does not depend on them.
 */
export class DemandBoard {
  readonly #prefix: string;

  constructor(cacheKeyPrefix: string) {
    this.#prefix = cacheKeyPrefix;
  }

  /** Whether what the proxies of the bucket want is written in every interval. */
  concerns({ verdict, demand, rate, newUntilMs }: QuotaBucket, nowMs: number): boolean {
    return verdict === 'divided' && (demand * HEADROOM >= rate * LEAST_PART || nowMs < newUntilMs);
  }

  /** Whether the bucket should be in a round to write what its proxies want. */
  isDue(bucket: QuotaBucket, nowMs: number): boolean {
    return bucket.askedInterval !== intervalAt(nowMs) && this.concerns(bucket, nowMs);
  }

  /** Adds the ops of a bucket to a batch. Null if it has none in this interval. */
  ask(batch: CounterBatch, bucket: QuotaBucket, nowMs: number): BoardOps | null {
    if (!this.isDue(bucket, nowMs)) return null;
    const interval = intervalAt(nowMs);
    bucket.askedInterval = interval;
    this.#add(batch, bucket, interval, sumOf(bucket));
    const before = this.#add(batch, bucket, interval - 1, 0);
    batch.endGroup(false);
    return { bucket, before };
  }

  /** Sets the cap of a bucket when the batch was counted. */
  answer(batch: CounterBatch, { bucket, before }: BoardOps): void {
    const sum = batch.opAfters[before];
    if (Number.isNaN(sum) || sum === 0) return;
    const wanting = Math.floor(sum / UNIT);
    const others = sum % UNIT;
    const { rate } = bucket;
    if (wanting > 0 && others < rate) bucket.cap = (rate - others) / wanting;
    else if (others > rate) bucket.cap = (Math.min(bucket.cap, rate) * rate) / others;
    else bucket.cap = Number.POSITIVE_INFINITY;
  }

  #add(batch: CounterBatch, { name }: QuotaBucket, interval: number, hits: number): number {
    const key = Buffer.from(`${this.#prefix}quota_demand_${name}_${interval}`);
    const expiryS = batch.nowS + KEPT_S;
    return batch.addOp(
      key,
      { start: 0, end: key.length },
      { hits, isRefund: false, limit: NEVER_FULL, unit: 0, ttlS: KEPT_S, expiryS },
    );
  }
}

function intervalAt(nowMs: number): number {
  return Math.floor(nowMs / INTERVAL_MS);
}

function sumOf({ subscribers, cap, rate }: QuotaBucket): number {
  const most = Math.min(cap, rate);
  let wanting = 0;
  let others = 0;
  for (const { demand, usage } of subscribers) {
    const wanted = demand * HEADROOM;
    // What a new proxy wants is not known yet.
    if (wanted > most || usage.intervalMs === 0) wanting++;
    else others += wanted;
  }
  return wanting * UNIT + Math.min(Math.ceil(others), UNIT - 1);
}
