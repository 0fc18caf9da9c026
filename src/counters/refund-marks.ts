/**
 * Shared memory that tells all threads of the process which keys were refunded. A local cache that holds such a key as
 * over its limit must ask the store again.
 *
 * A word of the fingerprint selects the bucket of a key, and a refund increments the mark of its bucket. A cache entry is
 * valid only while the bucket has the mark that it had before the store was asked. So a count that was read before a
 * refund and arrives after it is not cached. Other keys in the bucket cost one extra request to the store.
 *
 * Layout of the shared memory, in Int32 words:
 *
 *     [0]       number of disconnected refund feeds from other processes; unless 0, the local caches are not used
 *     [1 …]     marks
 */
export class RefundMarks {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  /** @param buffer the marks of another thread; by default new ones */
  constructor(buffer = new SharedArrayBuffer((1 + BUCKETS) * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Whether all feeds are connected, so that no refund is missed. */
  get complete(): boolean {
    return Atomics.load(this.#words, 0) === 0;
  }

  /** The mark of the bucket of a key. */
  of(word: number): number {
    return Atomics.load(this.#words, placeOf(word));
  }

  /** Records a refund of a key in this bucket. */
  refunded(word: number): void {
    Atomics.add(this.#words, placeOf(word), 1);
  }

  /** Records that a feed was disconnected: refunds by other processes are missed. */
  feedDown(): void {
    Atomics.add(this.#words, 0, 1);
  }

  /** Records that a feed is connected again. Any key may have been refunded meanwhile. */
  feedUp(): void {
    for (let place = 1; place <= BUCKETS; place++) Atomics.add(this.#words, place, 1);
    Atomics.sub(this.#words, 0, 1);
  }
}

/** 256 KiB: a thousand keys that are over their limit rarely share a bucket. */
const BUCKETS = 65_536;

function placeOf(word: number): number {
  return 1 + (word & (BUCKETS - 1));
}
