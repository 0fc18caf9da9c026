import type { ByteWriter } from '../../base/bytes.ts';
import { FNV_START, fnvStep } from '../../base/hash.ts';
import { MAX_ENTRIES, type RequestTable } from '../../messages/request-table.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { ENTRY, ENTRY_FLAG, HEADER, LEVEL } from '../layout.ts';
import { escapeMark, writeMarked, writePattern } from './counted-text.ts';
import { findEdge } from './edge-lookup.ts';
import { MATCHED, matchesSeveral } from './matched.ts';
import { type LevelText, ValueLookup } from './value-lookup.ts';
import { WildcardLookup } from './wildcards.ts';

const UNDERSCORE = 95;
/** What changes how a level appears in the cache key. */
const CHANGES_KEY = ENTRY_FLAG.aside | ENTRY_FLAG.shareThreshold | ENTRY_FLAG.marked;

/** What has no value in the cache key, or begins with the mark on purpose. */
const NEVER_ESCAPED = ENTRY_FLAG.aside | ENTRY_FLAG.marked;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Matches one descriptor at a time, level by level and without backtracking, and writes the part of the cache key for
 * the descriptor: the cache key contains the text `key_value` that each level is matched with, followed by an underscore.
 * Entries that are set aside are not part of it. Where values count together, the text has what they share instead of the
 * value (spec 2.6): the pattern of a wildcard, or the name of the rule and the part that counts together.
 *
 * The fields hold the match of each level until the next call of {@link match}.
 */
export class Matcher {
  /** The number of the matched entry on each level; see `ENTRY`. */
  readonly path = new Int32Array(MAX_ENTRIES);
  /** {@link MATCHED}, by level. */
  readonly how = new Uint8Array(MAX_ENTRIES);
  /** Whether all values of a level share a counter: it has `share_threshold`, and leaves the value open. */
  shared = false;
  /** The entries of the request that limits of the rule read and that are not part of its path; see `ENTRY_FLAG.aside`. */
  readonly asides = new Int32Array(MAX_ENTRIES);
  asideCount = 0;
  /** The entry of the request after the last one of the descriptor. */
  end = 0;

  readonly #wildcards = new WildcardLookup();
  readonly #values = new ValueLookup();
  /** The text that was written last. Reused for each level. */
  readonly #text: Writable<LevelText> = {
    bytes: new Uint8Array(),
    start: 0,
    keyEnd: 0,
    end: 0,
    keyHash: 0,
    textHash: 0,
    values: new Uint8Array(),
    valueStart: 0,
    valueEnd: 0,
  };

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
    const levels = words[HEADER.levels];
    const first = table.firstEntry[descriptor];
    const count = table.entryCount[descriptor];
    let level = topLevel;
    this.shared = false;
    this.asideCount = 0;
    this.end = first + count;
    for (let i = 0; i < count; i++) {
      this.#writeText(table, first + i, key);
      const entry = this.#choose(rules, level, i);
      key.byte(UNDERSCORE);
      if (entry < 0) return -1;
      this.path[i] = entry;
      const record = entries + entry * ENTRY.words;
      const flags = words[record + ENTRY.flags];
      if ((flags & CHANGES_KEY) !== 0) this.#takeFlags(rules, first + i, key, i);
      if (words[levels + level * LEVEL.words + LEVEL.marks] > 0 && (flags & NEVER_ESCAPED) === 0)
        escapeMark(key, this.#text.keyEnd);
      // A limit applies only at the depth of the descriptor, not at a deeper or shallower level (spec 2.3).
      if (i === count - 1) return words[record + ENTRY.limit];
      level = words[record + ENTRY.level];
      if (level < 0) return -1;
    }
    return -1;
  }

  /** What the flags of a matched entry change in the cache key. @param entry the entry of the request */
  #takeFlags(rules: CompiledRules, entry: number, key: ByteWriter, level: number): void {
    const record = rules.words[HEADER.entries] + this.path[level] * ENTRY.words;
    const flags = rules.words[record + ENTRY.flags];
    if ((flags & ENTRY_FLAG.aside) !== 0) {
      key.length = this.#text.start;
      this.asides[this.asideCount++] = entry;
      return;
    }
    if ((flags & ENTRY_FLAG.marked) !== 0) writeMarked(rules, record, this.#text, key);
    else if (matchesSeveral(this.how[level])) writePattern(rules, record, this.#text, key);
    else return;
    if ((flags & ENTRY_FLAG.shareThreshold) !== 0) this.shared = true;
  }

  /** Writes `<key>_<value>_` of every entry without matching, for descriptors with a limit override. */
  writeAll(table: RequestTable, descriptor: number, key: ByteWriter): void {
    const first = table.firstEntry[descriptor];
    for (let entry = first; entry < first + table.entryCount[descriptor]; entry++) {
      this.#writeText(table, entry, key);
      key.byte(UNDERSCORE);
    }
  }

  /** Appends `key_value`, and hashes the key alone and the whole text. */
  #writeText(table: RequestTable, entry: number, to: ByteWriter): void {
    const text = this.#text;
    const from = table.bytes;
    const keyStart = table.keyStart[entry];
    const keyEnd = table.keyEnd[entry];
    const valueStart = table.valueStart[entry];
    const valueEnd = table.valueEnd[entry];
    to.reserve(keyEnd - keyStart + valueEnd - valueStart + 1);
    const out = to.bytes;
    let at = to.length;
    text.bytes = out;
    text.start = at;
    text.values = from;
    text.valueStart = valueStart;
    text.valueEnd = valueEnd;
    let hash = FNV_START;
    for (let i = keyStart; i < keyEnd; i++) {
      const byte = from[i];
      out[at++] = byte;
      hash = fnvStep(hash, byte);
    }
    text.keyHash = hash;
    text.keyEnd = at;
    out[at++] = UNDERSCORE;
    hash = fnvStep(hash, UNDERSCORE);
    for (let i = valueStart; i < valueEnd; i++) {
      const byte = from[i];
      out[at++] = byte;
      hash = fnvStep(hash, byte);
    }
    text.textHash = hash;
    text.end = at;
    to.length = at;
  }

  /** The entry of a level that the text matches, or -1. Sets how. @param i the number of the level in the descriptor */
  #choose(rules: CompiledRules, level: number, i: number): number {
    const text = this.#text;
    const { bytes, start, keyEnd, end } = text;
    let slot = findEdge(rules, level, text.textHash, bytes, start, keyEnd, end);
    if (slot >= 0) {
      this.how[i] = rules.words[slot + 3] === 0 ? MATCHED.exact : MATCHED.list;
      return rules.words[slot + 2] - 1;
    }
    const hasConditions = this.#values.isNeeded(rules, level);
    if (hasConditions) {
      const entry = this.#values.find(rules, level, text);
      this.how[i] = this.#values.how;
      if (entry >= 0) return entry;
    }
    let entry = this.#wildcards.find(rules, level, bytes, start, end);
    this.how[i] = MATCHED.wildcard;
    if (entry >= 0) return entry;
    if (hasConditions) {
      entry = this.#values.findExclusion(rules, level, text);
      this.how[i] = MATCHED.exclusion;
      if (entry >= 0) return entry;
    }
    this.how[i] = MATCHED.keyOnly;
    slot = findEdge(rules, level, text.keyHash, bytes, start, keyEnd, keyEnd);
    return slot < 0 ? -1 : rules.words[slot + 2] - 1;
  }
}
