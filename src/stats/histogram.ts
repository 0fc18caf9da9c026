/** Bounds of the usual Prometheus buckets, so that these are exact. */
const ROUND_BOUNDS_MS = [1, 2.5, 5].flatMap(step => [0.1, 1, 10, 100, 1_000].map(ten => step * ten));

/** Upper bounds of the buckets in milliseconds: factors of 1.3 from 10 µs to a minute, and the round bounds. */
export const BOUNDS_MS: Float64Array = Float64Array.from([
  ...Array.from({ length: 61 }, (_, step) => 0.01 * 1.3 ** step),
  ...ROUND_BOUNDS_MS,
  10_000,
]).sort();

/** The index of the bucket of a duration. */
export function bucketOf(durationMs: number): number {
  let low = 0;
  let high = BOUNDS_MS.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (durationMs <= BOUNDS_MS[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What a {@link Histogram} has recorded, as data for other threads. */
export type Recorded = Pick<Histogram, 'count' | 'maxMs' | 'counts' | 'sumsMs'>;

/** Durations in milliseconds: count, sum, maximum, and quantiles with the precision of a bucket (30 % of the value). */
export class Histogram {
  count = 0;
  maxMs = 0;
  /** Number of durations per bucket. The last bucket is for durations above all bounds. Read only. */
  readonly counts = new Float64Array(BOUNDS_MS.length + 1);
  /** Sum of the durations per bucket. Read only. */
  readonly sumsMs = new Float64Array(BOUNDS_MS.length + 1);

  get sumMs(): number {
    let sum = 0;
    for (const each of this.sumsMs) sum += each;
    return sum;
  }

  record(durationMs: number): void {
    this.count++;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    const bucket = bucketOf(durationMs);
    this.counts[bucket]++;
    this.sumsMs[bucket] += durationMs;
  }

  /** Adds everything that `other` has recorded. */
  add(other: Recorded): void {
    this.count += other.count;
    this.maxMs = Math.max(this.maxMs, other.maxMs);
    for (let bucket = 0; bucket < this.counts.length; bucket++) {
      this.counts[bucket] += other.counts[bucket];
      this.sumsMs[bucket] += other.sumsMs[bucket];
    }
  }

  /** Upper bound of the given `quantile` (0 to 1) in milliseconds; 0 if nothing was recorded. */
  quantileMs(quantile: number): number {
    const rank = Math.ceil(quantile * this.count);
    let seen = 0;
    for (let bucket = 0; bucket < BOUNDS_MS.length; bucket++) {
      seen += this.counts[bucket];
      if (seen >= rank && seen > 0) return Math.min(BOUNDS_MS[bucket], this.maxMs);
    }
    return this.maxMs;
  }

  /**
   * Number of durations of at most `boundMs`. Exact if that is the bound of a bucket. Otherwise the durations of a
   * bucket are assumed to be evenly distributed.
   */
  countWithin(boundMs: number): number {
    if (boundMs >= this.maxMs) return this.count;
    let within = 0;
    let from = 0;
    for (let bucket = 0; bucket < this.counts.length; bucket++) {
      const to = bucket < BOUNDS_MS.length ? BOUNDS_MS[bucket] : this.maxMs;
      if (to > boundMs) return within + Math.floor((this.counts[bucket] * (boundMs - from)) / (to - from));
      within += this.counts[bucket];
      from = to;
    }
    return within;
  }
}
