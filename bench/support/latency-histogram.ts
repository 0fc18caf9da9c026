/** Latencies in milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/** Buckets of every power of two: the width of a bucket is at most 1/256 of what it holds. */
const STEPS = 256;
/** Tenths of a microsecond: even the latency of a lone call is then known to a thousandth. */
const UNITS_A_MS = 10_000;
/** Some 200 s; what takes longer counts as that. */
const LARGEST = 0x7fff_ffff;
const BUCKETS = bucketOf(LARGEST) + 1;

/** Latencies by bucket, so that millions of them take no memory and no sorting. */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  record(ms: number): void {
    this.#counts[bucketOf(Math.min(Math.max(ms * UNITS_A_MS, 0), LARGEST) | 0)]++;
    this.#count++;
    this.#sumMs += ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  reset(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#sumMs = 0;
    this.#maxMs = 0;
  }

  /** What `percent` of 100 of the latencies do not exceed, or up to a 256th more. NaN of nothing. */
  percentileMs(percent: number): number {
    let left = Math.max(Math.ceil((percent / 100) * this.#count), 1);
    if (this.#count === 0) return Number.NaN;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#counts[bucket];
      if (left <= 0) return Math.min(upperEnd(bucket) / UNITS_A_MS, this.#maxMs);
    }
    return this.#maxMs;
  }

  summary(): LatencySummary {
    return {
      count: this.#count,
      meanMs: this.#sumMs / this.#count,
      p50Ms: this.percentileMs(50),
      p99Ms: this.percentileMs(99),
      p999Ms: this.percentileMs(99.9),
      maxMs: this.#maxMs,
    };
  }
}

/** Values below 512 have a bucket each; from there on every doubling has 256. */
function bucketOf(value: number): number {
  if (value < 2 * STEPS) return value;
  const shift = 23 - Math.clz32(value);
  return shift * STEPS + (value >>> shift);
}

/** The first value that is in a later bucket. */
function upperEnd(bucket: number): number {
  if (bucket < 2 * STEPS) return bucket + 1;
  const shift = Math.floor(bucket / STEPS) - 1;
  return (bucket - shift * STEPS + 1) * 2 ** shift;
}
