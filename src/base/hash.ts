/**
 * Hashing of byte strings.
 *
 * FNV-1a (Fowler, Noll, Vo) is used because it can be computed byte by byte: a descriptor is hashed while its text is
 * written, which also gives the hash of every prefix. The low bits of FNV-1a are weak, so {@link scramble} is applied
 * before the hash selects a slot in a table.
 */
export const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** The hash after one more byte. */
export function fnvStep(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, FNV_PRIME);
}

/** The hash after `bytes[start, end)`. */
export function fnvOver(hash: number, bytes: Uint8Array, start: number, end: number): number {
  let next = hash;
  for (let i = start; i < end; i++) next = Math.imul(next ^ bytes[i], FNV_PRIME);
  return next;
}

/** The hash of `bytes[start, end)` from the last byte to the first, which also gives the hash of every suffix. */
export function fnvBackward(bytes: Uint8Array, start: number, end: number): number {
  let next = FNV_START;
  for (let i = end - 1; i >= start; i--) next = Math.imul(next ^ bytes[i], FNV_PRIME);
  return next;
}

/** Spreads all bits of a 32-bit number over all bits (the finalizer of MurmurHash3). */
export function scramble(hash: number): number {
  let h = hash;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h;
}

/** Combines two numbers into one hash. */
export function combine(a: number, b: number): number {
  return scramble(Math.imul(a, 0x9e3779b1) ^ b);
}
