/** Upper bounds of the buckets in milliseconds: steps of about 1.3 from 10 µs to a minute. */
const BOUNDS_MS = Float64Array.from({ length: 61 }, (_, step) => 0.01 * 1.3 ** step);

/** Durations in milliseconds: count, sum, maximum, and quantiles to within a bucket (a third of the value). */
export class Histogram {
  count = 0;
  sumMs = 0;
  maxMs = 0;
  readonly #buckets = new Float64Array(BOUNDS_MS.length + 1);

  record(durationMs: number): void {
    this.count++;
    this.sumMs += durationMs;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    let low = 0;
    let high = BOUNDS_MS.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (durationMs <= BOUNDS_MS[middle]) high = middle;
      else low = middle + 1;
    }
    this.#buckets[low]++;
  }

  /** The bound that the share `quantile` (0 to 1) of all durations stays within; 0 while nothing was recorded. */
  quantileMs(quantile: number): number {
    const rank = Math.ceil(quantile * this.count);
    let seen = 0;
    for (let bucket = 0; bucket < BOUNDS_MS.length; bucket++) {
      seen += this.#buckets[bucket];
      if (seen >= rank && seen > 0) return Math.min(BOUNDS_MS[bucket], this.maxMs);
    }
    return this.maxMs;
  }
}
