import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { RefundMarks } from '../counters/refund-marks.ts';

/** Approximate memory of an entry without its key, in bytes. */
const ENTRY_OVERHEAD_BYTES = 176;

/** Minimum size of an enabled cache, whatever the setting. */
const MINIMUM_BYTES = 524_288;

/** A key that is over its limit. */
interface Entry {
  /** The end of the window, in milliseconds since the epoch. */
  readonly endMs: number;
  /** A word of the fingerprint of the key, and the mark of its bucket in `RefundMarks` before the store was asked. */
  readonly word: number;
  readonly mark: number;
}

/**
 * The local cache: keys that are over their limit until their window ends (spec 2.7, `LOCAL_CACHE_SIZE_IN_BYTES`),
 * limited by size. A key contains the start of its window, so an entry is never used for a later window. A refund of the
 * key invalidates the entry; see {@link RefundMarks}.
 */
export class OverLimitCache {
  readonly marks: RefundMarks;
  readonly #entries: LRUCache<string, Entry>;
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

  /** Whether the key `bytes[start, end)` is over its limit. Counts a hit or a miss. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    // `get` marks the entry as recently used.
    const entry = this.#entries.get(keyOf(bytes, start, end));
    const found = entry !== undefined && this.marks.complete && this.marks.of(entry.word) === entry.mark;
    if (found) this.hits++;
    else this.misses++;
    return found;
  }

  /**
   * Adds a key that is over its limit.
   * @param known the word of the fingerprint of the key, and its mark from before the store was asked
   */
  add(
    bytes: Uint8Array,
    range: { readonly start: number; readonly end: number },
    secondsLeft: number,
    known: { readonly word: number; readonly mark: number },
  ): void {
    if (this.marks.of(known.word) !== known.mark) return;
    const ttl = secondsLeft * 1_000;
    const entry = { endMs: this.#clock.nowMs() + ttl, word: known.word, mark: known.mark };
    this.#entries.set(keyOf(bytes, range.start, range.end), entry, { ttl });
  }
}

/** One character per byte, which is cheaper than decoding UTF-8. */
function keyOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
