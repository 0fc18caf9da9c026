/**
 * Hashing of byte strings.
 *
 * FNV-1a (Fowler, Noll, Vo) is used where a hash must grow byte by byte: the text of a descriptor is hashed while it
 * is written, and every prefix of it is hashed on the way. Its low bits are weak, so {@link scramble} goes over it
 * before it picks a place in a table.
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

/** The hash of `bytes[start, end)` read backwards, so that every suffix is hashed on the way. */
export function fnvBackward(bytes: Uint8Array, start: number, end: number): number {
  let next = FNV_START;
  for (let i = end - 1; i >= start; i--) next = Math.imul(next ^ bytes[i], FNV_PRIME);
  return next;
}

/** Spreads all bits of a 32-bit number over all bits (the finaliser of MurmurHash3). */
export function scramble(hash: number): number {
  let h = hash;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h;
}

/** Two numbers into one hash. */
export function combine(a: number, b: number): number {
  return scramble(Math.imul(a, 0x9e3779b1) ^ b);
}
