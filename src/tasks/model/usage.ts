import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/clock.ts';

/**
 * The usage of a tenant over time: what happened in each minute of the last hours and in each hour of the last days, of
 * all its workers together and of each. It is for people who look at plots, and not for accounting: the threads count in
 * memory and write every few seconds, so a crash loses the last of it.
 */

/**
 * What is counted:
 *
 * - `created`: tasks, including those of schedules and callbacks
 * - `started`: attempts, including those that are handed back or deferred
 * - `attemptsFailed`: attempts that failed, timed out, or whose lease expired
 * - `succeeded`, `failed`, `canceled`, `expired`: tasks that reached this status
 */
const USAGE_COUNTS = [
  'created',
  'started',
  'attemptsFailed',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const;
export type UsageCount = (typeof USAGE_COUNTS)[number];

/** Two histograms: how long attempts took, and how long tasks were due before their attempt started. */
const USAGE_TIMES = ['duration', 'lag'] as const;
type UsageTime = (typeof USAGE_TIMES)[number];

/**
 * Buckets of a histogram. The first one is up to 1 ms, each other one up to √2 times as much as the one before, and the
 * last one has no upper bound (it begins at 37 hours). A percentile is therefore at most 19% away from the true one.
 */
const TIME_BUCKETS = 56;

/** Number of figures: the counts, then the buckets of both histograms. */
export const USAGE_FIGURES = USAGE_COUNTS.length + USAGE_TIMES.length * TIME_BUCKETS;

/**
 * Figures that are not 0, as pairs of the place of a figure and its number, in the order of the places. Most buckets of
 * histograms are empty.
 */
export type UsagePairs = readonly number[];

/** The lengths of the intervals whose figures are kept, in milliseconds, and how long after their end. */
export const USAGE_SPANS = {
  minute: { ms: MINUTE_MS, keepMs: 2 * HOUR_MS },
  hour: { ms: HOUR_MS, keepMs: 7 * DAY_MS },
} as const;
export type UsageSpan = keyof typeof USAGE_SPANS;

/** Maximum number of workers of a tenant with figures of their own in an interval. All are in those of the tenant. */
export const MAX_USAGE_WORKERS = 200;

/** The start of the interval that contains a time. */
export function usageStart(span: UsageSpan, atMs: number): number {
  return atMs - (atMs % USAGE_SPANS[span].ms);
}

/** Whether an interval with this start is no longer kept. */
export function isUsageOver(span: UsageSpan, start: number, nowMs: number): boolean {
  const { ms, keepMs } = USAGE_SPANS[span];
  return start + ms + keepMs <= nowMs;
}

export function placeOfCount(count: UsageCount): number {
  return USAGE_COUNTS.indexOf(count);
}

/** @param ms a duration; below 0 counts as 0 */
export function placeOfTime(time: UsageTime, ms: number): number {
  const bucket = ms <= 1 ? 0 : Math.min(TIME_BUCKETS - 1, Math.ceil(2 * Math.log2(ms)));
  return USAGE_COUNTS.length + USAGE_TIMES.indexOf(time) * TIME_BUCKETS + bucket;
}

/** Figures to which others can be added. */
export class UsageSum {
  readonly #figures = new Float64Array(USAGE_FIGURES);

  add(place: number, by: number): void {
    this.#figures[place] += by;
  }

  addAll(pairs: UsagePairs): this {
    for (let i = 0; i < pairs.length; i += 2) this.#figures[pairs[i]] += pairs[i + 1];
    return this;
  }

  pairs(): UsagePairs {
    const pairs: number[] = [];
    for (let place = 0; place < USAGE_FIGURES; place++) {
      if (this.#figures[place] !== 0) pairs.push(place, this.#figures[place]);
    }
    return pairs;
  }

  count(count: UsageCount): number {
    return this.#figures[placeOfCount(count)];
  }

  /**
   * A percentile of a histogram in milliseconds; null if the histogram is empty.
   *
   * @param share from 0 to 1
   */
  percentile(time: UsageTime, share: number): number | null {
    const first = placeOfTime(time, 0);
    const buckets = this.#figures.subarray(first, first + TIME_BUCKETS);
    const total = buckets.reduce((sum, count) => sum + count, 0);
    if (total === 0) return null;
    let below = 0;
    const bucket = buckets.findIndex(count => {
      below += count;
      return count > 0 && below >= share * total;
    });
    return middleOf(bucket);
  }
}

/** The middle of a bucket on a logarithmic scale; of the last one, where it begins. */
function middleOf(bucket: number): number {
  if (bucket === TIME_BUCKETS - 1) return 2 ** ((bucket - 1) / 2);
  return bucket === 0 ? 1 : Math.round(2 ** ((bucket - 0.5) / 2));
}
