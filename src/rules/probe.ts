import { combine } from '../base/hash.ts';

/** Where a table is entered for a text on a level. The compiler and the matcher must agree, so both ask here. */
export function edgeHash(level: number, textHash: number): number {
  return combine(level, textHash);
}

/** The ends of a wildcard: FNV-1a over its head, over its tail backwards, and their lengths. */
interface WildcardEnds {
  readonly prefixHash: number;
  readonly prefixLength: number;
  readonly suffixHash: number;
  readonly suffixLength: number;
}

/** A gram as a number: the bytes of `bytes[at, at + length)`, at most four, and how many they are. */
export function gramHash(bytes: Uint8Array, at: number, length: number): number {
  let packed = 0;
  for (let i = at; i < at + length; i++) packed = (packed << 8) | bytes[i];
  return combine(packed, length);
}

/** One number for the ends of a wildcard, equal for equal ends. */
export function endsHash(ends: WildcardEnds): number {
  return combine(combine(ends.prefixHash, ends.suffixHash), ends.prefixLength * 65_537 + ends.suffixLength);
}
