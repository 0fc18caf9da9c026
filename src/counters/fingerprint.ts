/** The key of a {@link Fingerprinter}: 128 random bits. */
export type FingerprintKey = readonly [number, number, number, number];

/**
 * Computes the fingerprint that identifies a counter key within the process: 96 bits of a keyed hash.
 *
 * With a million live keys, the probability that any two share a fingerprint is about 6 in 10^18. The key of the hash is
 * random, so that callers cannot choose descriptor values that collide.
 */
export class Fingerprinter {
  /** The three words of the last fingerprint. */
  a = 0;
  b = 0;
  c = 0;
  readonly #key: FingerprintKey;

  constructor(key: FingerprintKey) {
    this.#key = key;
  }

  /**
   * Sets `a`, `b` and `c` to the fingerprint of `bytes[start, end)`.
   *
   * Four lanes in the manner of MurmurHash3 (x86, 128 bits), four bytes at a time. Each lane is mixed with its neighbor,
   * so that a difference in one word reaches all lanes. At the end, one lane is folded into the others.
   */
  take(bytes: Uint8Array, start: number, end: number): void {
    const key = this.#key;
    let a = key[0];
    let b = key[1];
    let c = key[2];
    let d = key[3];
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
      a = (Math.imul(rotate(a ^ word, 15), 0x239b961b) + b) | 0;
      b = Math.imul(rotate((b + word) | 0, 13), 0x38b34ae5) ^ c;
      c = (Math.imul(rotate(c ^ a, 17), 0xab0e9789) + d) | 0;
      d = Math.imul(rotate((d + b) | 0, 19), 0xa1e38b93) ^ a;
    }
    let tail = end - at;
    for (; at < end; at++) tail = (tail << 8) | bytes[at];
    a = mix(a ^ tail, end - start);
    b = mix((b + tail) | 0, a);
    c = mix(c ^ b, d);
    this.a = mix(a, c);
    this.b = mix(b, this.a);
    this.c = mix(c ^ d, this.b);
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

function mix(value: number, other: number): number {
  let h = (value + Math.imul(other, 0x9e3779b1)) | 0;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
