/**
 * Tells every thread of the process, at once, which keys have been refunded: a local cache that holds such a key as over
 * its limit must ask the store again.
 *
 * Keys fall into buckets by a word of their fingerprint, and a refund moves the mark of its bucket on. What is known of a
 * key holds only while its bucket has the mark that it had before the store was asked. So a count that was read before a
 * refund and arrives after it says nothing; another key of the same bucket is asked for once more, which costs little.
 *
 * Layout of the shared memory, in Int32 words:
 *
 *     [0]       how many feeds of refunds by other processes are down; while any is, the local caches are not used
 *     [1 …]     marks
 */
export class RefundMarks {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  /** @param buffer those of another thread; without it new ones */
  constructor(buffer = new SharedArrayBuffer((1 + BUCKETS) * 4)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** True while every refund is noticed: all feeds are up. */
  get complete(): boolean {
    return Atomics.load(this.#words, 0) === 0;
  }

  /** The mark of the bucket that a key belongs to. */
  of(word: number): number {
    return Atomics.load(this.#words, placeOf(word));
  }

  /** A key of this bucket was refunded. */
  refunded(word: number): void {
    Atomics.add(this.#words, placeOf(word), 1);
  }

  /** A feed of refunds is down: refunds by other processes are missed. */
  feedDown(): void {
    Atomics.add(this.#words, 0, 1);
  }

  /** The feed is up again. Any key may have been refunded meanwhile. */
  feedUp(): void {
    for (let place = 1; place <= BUCKETS; place++) Atomics.add(this.#words, place, 1);
    Atomics.sub(this.#words, 0, 1);
  }
}

/** A quarter of a mebibyte: two of a thousand keys that are over their limit hardly ever share one. */
const BUCKETS = 65_536;

function placeOf(word: number): number {
  return 1 + (word & (BUCKETS - 1));
}
