import { combine } from '../base/hash.ts';

/**
 * The layout of compiled rules: one `SharedArrayBuffer` that every thread reads in place and that is never changed after
 * it is published. All numbers are 32-bit words. Texts are in a pool of bytes at the end.
 *
 *     header     word offsets and sizes of the sections, see HEADER
 *     domains    open addressing table: domain number + 1, 0 for free; and the domain records
 *     levels     a record for each list of entries: the top level of a domain, or the entries nested in an entry
 *     entries    a record for each entry
 *     edges      open addressing table (level, composite text) → entry: exact and key-only lookup, and values of lists
 *     wildcards  open addressing table (level, hash of ends or gram) → first of a chain of wildcard entries
 *     shapes     the pairs of prefix and suffix lengths of the plain wildcards of a level
 *     valueSets  open addressing table (level, key) → value set, and the value sets: the conditions of a key on a level
 *     intervals  tables of networks and ranges, see `conditions/intervals.ts`
 *     patterns   a record for each pattern; and the automata that match them, see `patterns`
 *     exclusions a record for each entry with a `not`, whose conditions are on a level of their own
 *     conditions the entries with a condition or a grouping, in the order of their numbers, as they are written
 *     parts      literal texts between the first and the last `*` of a wildcard
 *     limits     a record for each rate limit; its number is also the number of its statistics
 *     extraRows  a record for each further row of statistics, which are numbered after the limits
 *     terms      a record for each way of counting that is not a plain fixed window; limits refer to it
 *     replaces   the interned names of the limits that a limit replaces
 *     answers    what each domain says about its answers; only if any domain does
 *     policies   the name of the policy of each limit; only if answers name policies
 *     files      the paths of the rule files and overlay files, and the names of resources
 *     overlaid   the limits that an overlay has changed, in the order of their numbers, and where the overlay has them
 *     quotas     the limits of which not the usual part is granted to proxies, in the order of their numbers
 *     pool       bytes
 *
 * The cost of a lookup does not depend on the number of rules. Exact and key-only entries take one probe each. A plain
 * wildcard `head*tail` is found by the hash of its head and tail, with one probe for each pair of lengths (shape) on the
 * level. A wildcard with literals in between, `head*literal*tail`, is indexed by a gram: up to four bytes of a literal,
 * the rarest on its level. Each position of the text takes one probe, and only wildcards whose gram occurs in the text
 * are compared with it.
 */
export const LAYOUT_VERSION = 14;

/**
 * Words of a cache line. Sections are aligned to it, and the records that every decision reads have this size: with many
 * rules, the cost of a lookup is the number of cache lines it touches.
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
  terms: 17,
  /** 0 without the section, like the next one. */
  answers: 18,
  policies: 19,
  files: 20,
  entryCount: 21,
  /** The texts of the names in `replaces`, in the same order. */
  replacedNames: 22,
  /** 1 if dots in the keys and values of rules are replaced in the names of statistics. */
  undotsStatistics: 23,
  overlaid: 24,
  overlaidCount: 25,
  /** Number of the terms of a plain limit per month + 1; 0 if a month has 30 days. */
  calendarMonth: 26,
  /** Number of rows of statistics: one for each limit, and those of {@link EXTRA_ROW}. */
  rowCount: 27,
  extraRows: 28,
  quotas: 29,
  quotaCount: 30,
  valueSetTable: 31,
  valueSetMask: 32,
  valueSets: 33,
  intervals: 34,
  patterns: 35,
  automata: 36,
  exclusions: 37,
  conditions: 38,
  conditionCount: 39,
  words: 40,
} as const;

/** Between the levels of a path. Shown as a dot, which a key or a value can contain as well. */
export const LEVEL_END = '\0';

/**
 * A domain: its top level, and texts in the pool: its name, its orders of buckets (`bucket-orders.ts`), and its
 * `RequestMapping` as JSON, whose length is 0 if it has none.
 */
export const DOMAIN = {
  name: 0,
  nameLength: 1,
  level: 2,
  orders: 3,
  ordersLength: 4,
  requests: 5,
  requestsLength: 6,
  words: 7,
} as const;

/**
 * A level: its shapes, with their longest prefix and suffix. In `gramLengths`, bit `n` is set if a wildcard of the level
 * is indexed by a gram of `n` bytes.
 */
export const LEVEL = {
  shapes: 0,
  shapeCount: 1,
  longestPrefix: 2,
  longestSuffix: 3,
  gramLengths: 4,
  /** Number of value sets of the level. */
  valueSets: 5,
  /** Number of entries of the level with {@link ENTRY_FLAG.marked}. */
  marks: 6,
  words: 7,
} as const;

/**
 * The conditions of the entries of a level with the same key. An offset of a table is that in its section + 1; 0 for none.
 */
export const VALUE_SET = {
  key: 0,
  keyLength: 1,
  /** Number of the level with the values that ignore case, in lower case, + 1. */
  folded: 2,
  ipv4: 3,
  ipv6: 4,
  numbers: 5,
  patterns: 6,
  patternCount: 7,
  exclusions: 8,
  exclusionCount: 9,
  words: 10,
} as const;

/** A pattern: its entry, and the offset of its automaton. In definition order. */
export const PATTERN = { entry: 0, automaton: 1, words: 2 } as const;

/** An entry with a `not`, and the number of the level that has the conditions that it excludes. In definition order. */
export const EXCLUSION = { entry: 0, level: 1, words: 2 } as const;

/** An entry, and its condition and grouping as lines of a rule file: text in the pool. */
export const CONDITION = { entry: 0, text: 1, textLength: 2, words: 3 } as const;

/** Maximum length of a gram, in bytes. */
export const LONGEST_GRAM = 4;

/** A shape: the lengths of a prefix and a suffix. */
export const SHAPE = { prefix: 0, suffix: 1, words: 2 } as const;

/**
 * Words of a slot in the tables of edges, wildcards and value sets: level + 1 (0: free), hash, number of the entry or value
 * set + 1. Of edges, the fourth word is 0, or for a value of a list, the place of the value in the pool + 1: its length in
 * four bytes, and its text.
 */
export const EDGE_WORDS = 4;

/** An entry. `limit` and `level` are -1 if absent. `nextWildcard` is entry + 1, or 0 at the end of the chain. */
export const ENTRY = {
  composite: 0,
  compositeLength: 1,
  limit: 2,
  level: 3,
  flags: 4,
  /** Position among the wildcards of its level. The first one in definition order wins. */
  order: 5,
  nextWildcard: 6,
  prefixLength: 7,
  suffixLength: 8,
  parts: 9,
  partCount: 10,
  /** Length of the key, with which the composite text begins. */
  keyLength: 11,
  /** Number of the entry above + 1; 0 on the top level of a domain. */
  above: 12,
  domain: 13,
  /** Number of the file or resource + 1; 0 if it is not known. */
  file: 14,
  line: 15,
  words: LINE_WORDS,
} as const;

/** Bits of `ENTRY.flags`. */
export const ENTRY_FLAG = {
  detailedMetric: 1,
  valueToMetric: 2,
  shareThreshold: 4,
  /** The entry has a condition instead of a value, and is found through a value set. */
  condition: 8,
  /** A part of the value counts together: what `conditions/grouping.ts` has in the bits from 9 on. */
  grouped: 16,
  /** The condition ignores case, and so does the counter. */
  foldsCase: 32,
  /**
   * In the cache key, the name of the rule stands before what counts together, so that no other rule and no value of a request
   * counts there: the values of a condition that share a counter, or values with a grouping or without case.
   */
  marked: 64,
  /**
   * The entry is not part of the path of the rule above it: a limit of that rule reads the value. It matches by key alone,
   * adds nothing to the cache key, and has the limit, the level below and `detailedMetric` of the rule above.
   */
  aside: 1 << 8,
} as const;

/** A text in the pool: a literal of a wildcard, the path of a file, a replaced name. */
export const PART = { text: 0, length: 1, words: 2 } as const;

/** A rate limit. Texts that responses contain are encoded once, at compile time. */
export const LIMIT = {
  /** The low 32 bits; see {@link highBits}. */
  requestsPerUnit: 0,
  unit: 1,
  /** {@link LIMIT_FLAG}, and above them the high bits of the requests. Read as `CompiledRules.flags`. */
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
  /** The metadata map as JSON; length 0 if absent. */
  metadata: 10,
  metadataLength: 11,
  /** The configured path: domain and composite texts, joined by {@link LEVEL_END}. Names the statistics of the limit. */
  path: 12,
  pathLength: 13,
  /** Number of the terms + 1; 0 for a plain limit. */
  terms: 14,
  /** Number of further limits of the same entry, which follow this one. */
  siblings: 15,
  words: LINE_WORDS,
} as const;

/**
 * A row of statistics that a limit has besides its own. Its name is that of the limit with one more level, a text in the
 * pool. The rows of a limit follow one another:
 *
 * - with classes: one for other values, then one for each class
 * - with a share that passes after the limit: one for the hits that pass
 * - with leases: those of `LEASE_ROWS` in `compile-extra-rows.ts`
 */
export const EXTRA_ROW = { ofLimit: 0, level: 1, levelLength: 2, words: 3 } as const;

/**
 * How limits count that are not plain: `LimitTerms` of `rule-set.ts`. Equal terms are stored once. The unit of the window
 * and the requests are those of the limit.
 */
export const TERMS = {
  /** And above it the high bits of the burst. */
  algorithm: 0,
  multiplier: 1,
  /** The low 32 bits. */
  burst: 2,
  /** See {@link CALENDAR_PERIODS}; 0 without a calendar. */
  calendarPeriod: 3,
  calendarStarts: 4,
  /** Text in the pool. */
  zone: 5,
  zoneLength: 6,
  window: 7,
  windowLength: 8,
  tag: 9,
  tagLength: 10,
  /** 0 without a penalty. */
  penaltyAfter: 11,
  /** Seconds, like the maximum. */
  penaltyFor: 12,
  penaltyFactor: 13,
  penaltyMax: 14,
  /** `ClassRule` as JSON, text in the pool; length 0 without classes. */
  classes: 15,
  classesLength: 16,
  /** Hundredths of a percent; 0 if all hits beyond the limit are rejected. */
  afterLimit: 17,
  /** `LeaseRule` as JSON, text in the pool; length 0 without leases. */
  lease: 18,
  leaseLength: 19,
  scale: 20,
  words: 2 * LINE_WORDS,
} as const;

/** The numbers of the periods of calendars. */
export const CALENDAR_PERIODS = { day: 1, week: 2, month: 3, year: 4 } as const;

/** A limit that an overlay has changed: its number, and the number of the file and the line of the overlay entry. */
export const OVERLAID = { limit: 0, file: 1, line: 2, words: 3 } as const;

/** A limit whose rule has a `quota`: its number, and what `QuotaRule` says. Without those at `DEFAULT_QUOTA`. */
export const QUOTA = { limit: 0, share: 1, forS: 2, words: 3 } as const;

/** The name of a policy, with its quotes: text in the pool. The records are in the order of the limits. */
export const POLICY = { name: 0, nameLength: 1, words: 2 } as const;

/** Bits of `LIMIT.flags`, up to bit 10. */
export const LIMIT_FLAG = {
  unlimited: 1,
  shadow: 2,
  quota: 4,
  /** The limit is in a list, so its path has one more level than the entry. */
  listed: 8,
} as const;

/** The place of the high bits of a number in a word that has other content in its low bits. */
const HIGH_SHIFT = 11;
const WORD = 2 ** 32;

/** The bits of a number up to 2^53 - 1 above its low 32 bits, in their place. Most numbers have none. */
export function highBits(value: number): number {
  return Math.floor(value / WORD) << HIGH_SHIFT;
}

/** The number with these low 32 bits, and with its {@link highBits} in another word. */
export function wholeNumber(low: number, high: number): number {
  return (low >>> 0) + (high >>> HIGH_SHIFT) * WORD;
}

/** What a word has below {@link highBits}. */
export function lowContent(word: number): number {
  return word & ((1 << HIGH_SHIFT) - 1);
}

/** The hash of a text on a level. Compiler and matcher share the hash functions of this file. */
export function edgeHash(level: number, textHash: number): number {
  return combine(level, textHash);
}

/** The ends of a wildcard: FNV-1a over its head, FNV-1a over its tail backwards, and their lengths. */
interface WildcardEnds {
  readonly prefixHash: number;
  readonly prefixLength: number;
  readonly suffixHash: number;
  readonly suffixLength: number;
}

/** The hash of a gram: the bytes `bytes[at, at + length)`, at most four, and their number. */
export function gramHash(bytes: Uint8Array, at: number, length: number): number {
  let packed = 0;
  for (let i = at; i < at + length; i++) packed = (packed << 8) | bytes[i];
  return combine(packed, length);
}

/** The hash of the ends of a wildcard. */
export function endsHash(ends: WildcardEnds): number {
  return combine(combine(ends.prefixHash, ends.suffixHash), ends.prefixLength * 65_537 + ends.suffixLength);
}
