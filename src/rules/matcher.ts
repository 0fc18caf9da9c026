import type { ByteWriter } from '../base/bytes.ts';
import { FNV_START, fnvStep } from '../base/hash.ts';
import { MAX_ENTRIES, type RequestTable } from '../messages/request-table.ts';
import type { CompiledRules } from './compiled-rules.ts';
import { EDGE_WORDS, ENTRY, ENTRY_FLAG, edgeHash, HEADER } from './layout.ts';
import { WildcardLookup } from './wildcards.ts';

const UNDERSCORE = 95;
const ASIDE_OR_SHARED = ENTRY_FLAG.aside | ENTRY_FLAG.shareThreshold;

/** How a level was matched, in the order in which matches are tried (spec 2.3). */
export const MATCHED = { exact: 0, wildcard: 1, keyOnly: 2 } as const;

/**
 * Matches one descriptor at a time, level by level and without backtracking, and writes the part of the cache key for
 * the descriptor: the cache key contains the text `key_value` that each level is matched with, followed by an underscore.
 * Entries that are set aside are not part of it.
 *
 * The fields hold the match of each level until the next call of {@link match}.
 */
export class Matcher {
  /** The number of the matched entry on each level; see `ENTRY`. */
  readonly path = new Int32Array(MAX_ENTRIES);
  /** {@link MATCHED}, by level. */
  readonly how = new Uint8Array(MAX_ENTRIES);
  /** Start of the text of each level in the cache key. */
  readonly textStart = new Int32Array(MAX_ENTRIES);
  /** Whether a level was matched by a wildcard with `share_threshold`. */
  shared = false;
  /** The entries of the request that limits of the rule read and that are not part of its path; see `ENTRY_FLAG.aside`. */
  readonly asides = new Int32Array(MAX_ENTRIES);
  asideCount = 0;
  /** The entry of the request after the last one of the descriptor. */
  end = 0;

  readonly #wildcards = new WildcardLookup();
  /** Hashes of the last text: of the key alone, and of `key_value`. */
  #keyHash = 0;
  #textHash = 0;

  /**
   * Returns the limit for the descriptor in row `descriptor`, or -1. Appends `<key>_<value>_` of each entry to `key`; if
   * there is no limit, the text may be incomplete.
   */
  match(
    rules: CompiledRules,
    topLevel: number,
    table: RequestTable,
    descriptor: number,
    key: ByteWriter,
  ): number {
    const words = rules.words;
    const entries = words[HEADER.entries];
    const first = table.firstEntry[descriptor];
    const count = table.entryCount[descriptor];
    let level = topLevel;
    this.shared = false;
    this.asideCount = 0;
    this.end = first + count;
    for (let i = 0; i < count; i++) {
      this.textStart[i] = key.length;
      const keyEnd = this.#writeText(table, first + i, key);
      const entry = this.#choose(
        rules,
        level,
        key.bytes,
        { start: this.textStart[i], keyEnd, end: key.length },
        i,
      );
      key.byte(UNDERSCORE);
      if (entry < 0) return -1;
      this.path[i] = entry;
      const record = entries + entry * ENTRY.words;
      const flags = words[record + ENTRY.flags];
      if ((flags & ASIDE_OR_SHARED) !== 0) this.#takeFlags(flags, i, first + i, key);
      // A limit applies only at the depth of the descriptor, not at a deeper or shallower level (spec 2.3).
      if (i === count - 1) return words[record + ENTRY.limit];
      level = words[record + ENTRY.level];
      if (level < 0) return -1;
    }
    return -1;
  }

  /** What the flags of a matched entry change. @param entry the entry of the request */
  #takeFlags(flags: number, level: number, entry: number, key: ByteWriter): void {
    if ((flags & ENTRY_FLAG.aside) !== 0) {
      key.length = this.textStart[level];
      this.asides[this.asideCount++] = entry;
    } else if (this.how[level] === MATCHED.wildcard) this.shared = true;
  }

  /** Writes `<key>_<value>_` of every entry without matching, for descriptors with a limit override. */
  writeAll(table: RequestTable, descriptor: number, key: ByteWriter): void {
    const first = table.firstEntry[descriptor];
    for (let entry = first; entry < first + table.entryCount[descriptor]; entry++) {
      this.#writeText(table, entry, key);
      key.byte(UNDERSCORE);
    }
  }

  /** Appends `key_value`, hashes it, and returns the end of the key. */
  #writeText(table: RequestTable, entry: number, to: ByteWriter): number {
    const from = table.bytes;
    const keyStart = table.keyStart[entry];
    const keyEnd = table.keyEnd[entry];
    const valueStart = table.valueStart[entry];
    const valueEnd = table.valueEnd[entry];
    to.reserve(keyEnd - keyStart + valueEnd - valueStart + 1);
    const out = to.bytes;
    let at = to.length;
    let hash = FNV_START;
    for (let i = keyStart; i < keyEnd; i++) {
      const byte = from[i];
      out[at++] = byte;
      hash = fnvStep(hash, byte);
    }
    this.#keyHash = hash;
    const textKeyEnd = at;
    out[at++] = UNDERSCORE;
    hash = fnvStep(hash, UNDERSCORE);
    for (let i = valueStart; i < valueEnd; i++) {
      const byte = from[i];
      out[at++] = byte;
      hash = fnvStep(hash, byte);
    }
    this.#textHash = hash;
    to.length = at;
    return textKeyEnd;
  }

  #choose(
    rules: CompiledRules,
    level: number,
    bytes: Uint8Array,
    text: { readonly start: number; readonly keyEnd: number; readonly end: number },
    i: number,
  ): number {
    let entry = lookup(rules, level, this.#textHash, bytes, text.start, text.end);
    if (entry >= 0) {
      this.how[i] = MATCHED.exact;
      return entry;
    }
    entry = this.#wildcards.find(rules, level, bytes, text.start, text.end);
    if (entry >= 0) {
      this.how[i] = MATCHED.wildcard;
      return entry;
    }
    this.how[i] = MATCHED.keyOnly;
    return lookup(rules, level, this.#keyHash, bytes, text.start, text.keyEnd);
  }
}

/** The entry of a level whose composite text is `bytes[start, end)`, or -1. */
function lookup(
  rules: CompiledRules,
  level: number,
  hash: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const words = rules.words;
  const table = words[HEADER.edgeTable];
  const mask = words[HEADER.edgeMask];
  const entries = words[HEADER.entries];
  for (let at = edgeHash(level, hash) & mask; ; at = (at + 1) & mask) {
    const slot = table + at * EDGE_WORDS;
    if (words[slot] === 0) return -1;
    if (words[slot] !== level + 1 || words[slot + 1] !== hash) continue;
    const record = entries + (words[slot + 2] - 1) * ENTRY.words;
    if (
      rules.holds(words[record + ENTRY.composite], words[record + ENTRY.compositeLength], bytes, start, end)
    ) {
      return words[slot + 2] - 1;
    }
  }
}
