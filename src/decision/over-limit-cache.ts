import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';

/** Rough cost of an entry beside its key: the map, the list and the expiry of the cache. */
const ENTRY_OVERHEAD_BYTES = 128;

/** A cache that is on holds at least this much, whatever the setting says. */
const MINIMUM_BYTES = 524_288;

/**
 * Keys that are known to be over their limit until their window ends (spec 2.7, `LocalCacheSizeInBytes`), bounded by
 * bytes. The key holds the start of the window, so an entry can never speak for a later one.
 */
export class OverLimitCache {
  /** The end of the window by key, in milliseconds of the clock. */
  readonly #entries: LRUCache<string, number>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  hits = 0;
  misses = 0;
  /** Entries that had to make room while they held. */
  evicted = 0;
  /** Entries that were removed when they held no longer. Nobody asks for a key of a past window, so most are removed late. */
  expired = 0;
  overwritten = 0;

  constructor(sizeBytes: number, clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
    this.#entries = new LRUCache({
      maxSize: Math.max(sizeBytes, MINIMUM_BYTES),
      sizeCalculation: (_endMs, key) => key.length + ENTRY_OVERHEAD_BYTES,
      perf: { now: () => clock.nowMs() },
      ttlResolution: 0,
      dispose: (endMs, _key, reason) => {
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
    const found = this.#entries.get(keyOf(bytes, start, end)) !== undefined;
    if (found) this.hits++;
    else this.misses++;
    return found;
  }

  add(bytes: Uint8Array, start: number, end: number, secondsLeft: number): void {
    const ttl = secondsLeft * 1_000;
    this.#entries.set(keyOf(bytes, start, end), this.#clock.nowMs() + ttl, { ttl });
  }
}

/** One character a byte: cheaper to make than decoded text, and just as distinct. */
function keyOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
