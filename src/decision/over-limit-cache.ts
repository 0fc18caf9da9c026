import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { RefundMarks } from '../counters/refund-marks.ts';

/** Rough cost of an entry beside its key: the entry, the map, the list and the expiry of the cache. */
const ENTRY_OVERHEAD_BYTES = 176;

/** A cache that is on holds at least this much, whatever the setting says. */
const MINIMUM_BYTES = 524_288;

/** What is known of a key that is over its limit. */
interface Entry {
  /** The end of the window, in milliseconds of the clock. */
  readonly endMs: number;
  /** A word of the fingerprint of the key, and the mark of its bucket before the store was asked. */
  readonly word: number;
  readonly mark: number;
}

/**
 * Keys that are known to be over their limit until their window ends (spec 2.7, `LocalCacheSizeInBytes`), bounded by
 * bytes. The key holds the start of the window, so an entry can never speak for a later one. A refund of the key, in any
 * thread or process that {@link RefundMarks} know of, makes an entry worthless.
 */
export class OverLimitCache {
  readonly marks: RefundMarks;
  readonly #entries: LRUCache<string, Entry>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  hits = 0;
  misses = 0;
  /** Entries that had to make room while they held. */
  evicted = 0;
  /** Entries that were removed when they held no longer. Nobody asks for a key of a past window, so most are removed late. */
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

  /** Whether the key `bytes[start, end)` is known to be over its limit. Counts as a lookup. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    // A look-up that renews the entry: keys that are asked for are the ones to keep.
    const entry = this.#entries.get(keyOf(bytes, start, end));
    const found = entry !== undefined && this.marks.complete && this.marks.of(entry.word) === entry.mark;
    if (found) this.hits++;
    else this.misses++;
    return found;
  }

  /**
   * Remembers that a key is over its limit.
   * @param known the word of the key's fingerprint, and the mark of it from before the store was asked
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

/** One character a byte: cheaper to make than decoded text, and just as distinct. */
function keyOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
