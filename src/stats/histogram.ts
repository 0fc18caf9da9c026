/** Bounds that are asked for by others: those of the Prometheus buckets, which are exact for it. */
const ROUND_BOUNDS_MS = [1, 2.5, 5].flatMap(step => [0.1, 1, 10, 100, 1_000].map(ten => step * ten));

/** Upper bounds of the buckets in milliseconds: steps of about 1.3 from 10 µs to a minute, and the round ones. */
export const BOUNDS_MS: Float64Array = Float64Array.from([
  ...Array.from({ length: 61 }, (_, step) => 0.01 * 1.3 ** step),
  ...ROUND_BOUNDS_MS,
  10_000,
]).sort();

/** Durations in milliseconds: count, sum, maximum, and quantiles to within a bucket (a third of the value). */
export class Histogram {
  count = 0;
  maxMs = 0;
  /** How many durations each bucket holds; the last one those above all bounds. For reading only. */
  readonly counts = new Float64Array(BOUNDS_MS.length + 1);
  /** The sum of the durations in each bucket. For reading only. */
  readonly sumsMs = new Float64Array(BOUNDS_MS.length + 1);

  get sumMs(): number {
    let sum = 0;
    for (const each of this.sumsMs) sum += each;
    return sum;
  }

  record(durationMs: number): void {
    this.count++;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    let low = 0;
    let high = BOUNDS_MS.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (durationMs <= BOUNDS_MS[middle]) high = middle;
      else low = middle + 1;
    }
    this.counts[low]++;
    this.sumsMs[low] += durationMs;
  }

  /** Takes in all that `other` has recorded. */
  add(other: Pick<Histogram, 'count' | 'maxMs' | 'counts' | 'sumsMs'>): void {
    this.count += other.count;
    this.maxMs = Math.max(this.maxMs, other.maxMs);
    for (let bucket = 0; bucket < this.counts.length; bucket++) {
      this.counts[bucket] += other.counts[bucket];
      this.sumsMs[bucket] += other.sumsMs[bucket];
    }
  }

  /** The bound that the share `quantile` (0 to 1) of all durations stays within; 0 while nothing was recorded. */
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
   * How many durations are at most `boundMs`: exact where that is the bound of a bucket, else as if those of the bucket
   * around it lay evenly in it.
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
