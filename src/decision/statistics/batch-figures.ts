import { BOUNDS_MS, bucketOf, Histogram } from '../../stats/histogram.ts';

/** What is measured of a batch: its duration, the part of it in the store, and its number of requests. */
const FIGURES = ['decision', 'store', 'requests'] as const;
type Figure = (typeof FIGURES)[number];

const BUCKETS = BOUNDS_MS.length + 1;

/**
 * How long batches take and how many requests they have, measured by all threads in the same memory: for each figure one
 * counter for each bucket of a `Histogram`, which overflows at 2^32. Durations are counted once for each request of the
 * batch, sizes once for each batch.
 */
export class BatchFigures {
  readonly #counts: Int32Array<SharedArrayBuffer>;
  #measuredMs = 0;

  private constructor(buffer: SharedArrayBuffer) {
    this.#counts = new Int32Array(buffer);
  }

  static create(): BatchFigures {
    return new BatchFigures(new SharedArrayBuffer(FIGURES.length * BUCKETS * Int32Array.BYTES_PER_ELEMENT));
  }

  /** The figures of another thread, from its {@link buffer}. */
  static attach(buffer: SharedArrayBuffer): BatchFigures {
    return new BatchFigures(buffer);
  }

  get buffer(): SharedArrayBuffer {
    return this.#counts.buffer;
  }

  /**
   * Whether to measure a batch that begins at this time. A thread measures at most one batch in each millisecond, because
   * reading the clock costs as much as a part of a decision.
   */
  isDue(nowMs: number): boolean {
    if (nowMs === this.#measuredMs) return false;
    this.#measuredMs = nowMs;
    return true;
  }

  /** @param storeMs the part of `durationMs` in the store; 0 if nothing had to be counted */
  record(requests: number, durationMs: number, storeMs: number): void {
    this.#add('decision', durationMs, requests);
    if (storeMs > 0) this.#add('store', storeMs, requests);
    this.#add('requests', requests, 1);
  }

  /** All counters at this time. */
  snapshot(): Int32Array {
    return this.#counts.slice();
  }

  #add(figure: Figure, value: number, count: number): void {
    Atomics.add(this.#counts, FIGURES.indexOf(figure) * BUCKETS + bucketOf(value), count);
  }
}

/** The values of one figure that were counted between two snapshots. */
export function figureBetween(before: Int32Array, after: Int32Array, figure: Figure): Histogram {
  const histogram = new Histogram();
  const base = FIGURES.indexOf(figure) * BUCKETS;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const count = (after[base + bucket] - before[base + bucket]) >>> 0;
    if (count === 0) continue;
    histogram.counts[bucket] = count;
    histogram.count += count;
    histogram.maxMs = BOUNDS_MS[bucket] ?? BOUNDS_MS[BOUNDS_MS.length - 1];
  }
  return histogram;
}
