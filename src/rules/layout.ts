import { combine } from '../base/hash.ts';

/**
 * The compiled rules of one generation: one `SharedArrayBuffer` that every thread reads in place and nobody writes
 * after it is published. All numbers are 32-bit words; texts lie in a pool of bytes at the end.
 *
 *     header     word offsets and sizes of the sections, see HEADER
 *     domains    open addressing table: domain number + 1, 0 for free; and the domain records
 *     levels     a record for each list of entries: the top of a domain, or what is nested in an entry
 *     entries    a record for each entry
 *     edges      open addressing table (level, composite text) → entry: exact and key-only lookup
 *     wildcards  open addressing table (level, hash of ends or gram) → first of a chain of wildcard entries
 *     shapes     lengths of prefix and suffix that occur among the plain wildcards of a level
 *     parts      literal texts between the first and the last `*` of a wildcard
 *     limits     a record for each rate limit; its number is also the number of its statistics
 *     replaces   interned limit names that a limit replaces
 *     pool       bytes
 *
 * Why lookups do not slow down with the number of rules: exact and key-only entries are found by one probe each. A
 * wildcard `head*tail` is found by the hash of its head and its tail; a level asks once for each pair of lengths that
 * its wildcards have. A wildcard with literals between, `head*literal*tail`, is filed under a gram: up to four bytes
 * of a literal, the rarest there are on its level. The text is asked once at each of its places, and the wildcards
 * whose gram occurs in it are compared.
 */
export const LAYOUT_VERSION = 2;

/**
 * Sections begin at a multiple of this many words, and the records that every decision reads are of this size: a cache
 * line. With many rules the lines that a lookup touches are what it costs, and a record across two of them costs twice.
 */
export const LINE_WORDS = 16;

/** Words of the header. */
export const HEADER = {
  version: 0,
  domainTable: 1,
  domainMask: 2,
  domains: 3,
  levels: 4,
  entries: 5,
  edgeTable: 6,
  edgeMask: 7,
  wildcardTable: 8,
  wildcardMask: 9,
  shapes: 10,
  parts: 11,
  limits: 12,
  replaces: 13,
  /** Offset of the pool in bytes, not words. */
  poolBytes: 14,
  limitCount: 15,
  domainCount: 16,
  words: 20,
} as const;

/** A domain: its name in the pool, and its top level. */
export const DOMAIN = { name: 0, nameLength: 1, level: 2, words: 3 } as const;

/**
 * A level: its shapes, and the longest prefix and suffix that they ask for. `gramLengths` has bit `n` set when a
 * wildcard of the level is filed under a gram of `n` bytes.
 */
export const LEVEL = {
  shapes: 0,
  shapeCount: 1,
  longestPrefix: 2,
  longestSuffix: 3,
  gramLengths: 4,
  words: 5,
} as const;

/** Bytes of the longest gram. */
export const LONGEST_GRAM = 4;

/** A pair of lengths. */
export const SHAPE = { prefix: 0, suffix: 1, words: 2 } as const;

/** Words of a slot in the edge and wildcard tables: level + 1 (0: free), hash, entry + 1; four, so that none lies across two lines. */
export const EDGE_WORDS = 4;

/** An entry. `limit` and `level` are -1 when there is none. `nextWildcard` is entry + 1, 0 at the end of the chain. */
export const ENTRY = {
  composite: 0,
  compositeLength: 1,
  limit: 2,
  level: 3,
  flags: 4,
  /** Place among the wildcards of its level: the first in definition order wins. */
  order: 5,
  nextWildcard: 6,
  prefixLength: 7,
  suffixLength: 8,
  parts: 9,
  partCount: 10,
  words: LINE_WORDS,
} as const;

/** Bits of `ENTRY.flags`. */
export const ENTRY_FLAG = { detailedMetric: 1, valueToMetric: 2, shareThreshold: 4 } as const;

/** A literal text in the pool. */
export const PART = { text: 0, length: 1, words: 2 } as const;

/** A rate limit. Texts that responses need are encoded here once. */
export const LIMIT = {
  requestsPerUnit: 0,
  unit: 1,
  flags: 2,
  /** Interned name, 0 for none. */
  name: 3,
  replaces: 4,
  replaceCount: 5,
  /** `DescriptorStatus.current_limit` with tag and length, in protobuf wire format. */
  protobuf: 6,
  protobufLength: 7,
  /** `"currentLimit":{…}` in proto3 JSON. */
  json: 8,
  jsonLength: 9,
  /** The metadata map as JSON; length 0 when there is none. */
  metadata: 10,
  metadataLength: 11,
  /** The configured path: domain and composite texts, joined by dots. Names the statistics of the limit. */
  path: 12,
  pathLength: 13,
  words: LINE_WORDS,
} as const;

/** Bits of `LIMIT.flags`. */
export const LIMIT_FLAG = { unlimited: 1, shadow: 2, quota: 4 } as const;

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
