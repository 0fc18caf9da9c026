import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { CounterBatch } from '../counters/batch.ts';
import { RefundMarks } from '../counters/refund-marks.ts';

/** Approximate memory of an entry without its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 208;

/** Minimum size of an enabled cache, whatever the setting. */
const MINIMUM_BYTES = 524_288;

/** The limit that a key exceeds. Its key says the rest, except for penalties, which the store keeps anyway. */
interface ExceededLimit {
  /** The requests of the limit: of the rule, of an override, or of the request. */
  requests: number;
  /** The most hits that it admits when it is unused: the burst of a token bucket, else its requests. */
  most: number;
}

/** A key that is over its limit. */
interface OverLimitEntry extends Readonly<ExceededLimit> {
  /** When this was found, and until when it is certain, in milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly endMs: number;
  /** When a hit fits: `endMs`, or later if a penalty ends before. */
  readonly fitsMs: number;
  /** A word of the fingerprint of the key, and the mark of its bucket in `RefundMarks` before the store was asked. */
  readonly word: number;
  readonly mark: number;
}

/** The place of a key in bytes: `[start, end)`. */
interface KeyRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The local cache: keys that are certain to be over their limit for some time (spec 2.7, `LOCAL_CACHE_SIZE_IN_BYTES`),
 * limited by size. In a fixed window, this is until the window ends; else until a hit could be admitted. An entry belongs
 * to the limit that it was made for: if a reload or an override changes the limit, the store is asked again. A refund of
 * the key invalidates the entry; see {@link RefundMarks}. While the clock shows an earlier time than when the entry was
 * added, the entry is not used.
 */
export class OverLimitCache {
  readonly marks: RefundMarks;
  readonly #entries: LRUCache<string, OverLimitEntry>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  hits = 0;
  misses = 0;
  /** Number of evicted entries that were still valid. */
  evicted = 0;
  /** Number of removed entries that had expired. Keys of past windows are not looked up, so most are removed late. */
  expired = 0;
  overwritten = 0;

  constructor(sizeBytes: number, clock: Pick<Clock, 'nowMs'>, marks = new RefundMarks()) {
    this.#clock = clock;
    this.marks = marks;
    this.#entries = new LRUCache({
      maxSize: Math.max(sizeBytes, MINIMUM_BYTES),
      sizeCalculation: (_entry, key) => key.length + ENTRY_OVERHEAD_BYTES,
      perf: { now: () => clock.nowMs() },
      ttlResolution: 0,
      dispose: ({ endMs }, _key, reason) => {
        if (reason === 'set') this.overwritten++;
        else if (endMs <= clock.nowMs()) this.expired++;
        else this.evicted++;
      },
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What is known of a key that is over a limit; null if nothing is. Counts a hit or a miss. */
  find(bytes: Uint8Array, range: KeyRange, limit: ExceededLimit, nowMs: number): OverLimitEntry | null {
    // `get` marks the entry as recently used.
    const entry = this.#entries.get(keyOf(bytes, range));
    const isValid =
      entry !== undefined &&
      entry.sinceMs <= nowMs &&
      nowMs < entry.endMs &&
      entry.requests === limit.requests &&
      entry.most === limit.most;
    if (isValid && this.marks.complete && this.marks.of(entry.word) === entry.mark) {
      this.hits++;
      return entry;
    }
    this.misses++;
    return null;
  }

  /**
   * Adds a key that is over its limit. The cache keeps `entry`, whose mark is that from before the store was asked.
   */
  add(bytes: Uint8Array, range: KeyRange, entry: OverLimitEntry): void {
    if (this.marks.of(entry.word) !== entry.mark) return;
    const ttl = entry.endMs - this.#clock.nowMs();
    if (ttl <= 0) return;
    this.#entries.set(keyOf(bytes, range), entry, { ttl });
  }
}

/** Invalidates the cache entries of refunded keys, after the store has counted the refunds. */
export function markRefunds(counters: CounterBatch, marks: RefundMarks): void {
  if (counters.refundCount === 0) return;
  for (let op = 0; op < counters.opCount; op++) {
    const lowers = counters.opRefunds[op] === 1 && counters.opHits[op] > 0;
    if (lowers) marks.refunded(counters.markWord(op));
  }
}

/** One character per byte, which is cheaper than decoding UTF-8. */
function keyOf(bytes: Uint8Array, { start, end }: KeyRange): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
