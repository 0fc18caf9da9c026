import { FNV_START, fnvStep } from '../../base/hash.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import {
  EDGE_WORDS,
  ENTRY,
  edgeHash,
  endsHash,
  gramHash,
  HEADER,
  LEVEL,
  LONGEST_GRAM,
  PART,
  SHAPE,
} from '../layout.ts';

/**
 * Finds the wildcard entry of a level that matches a text: the first one in definition order.
 *
 * Plain wildcards, `head*tail`: one forward pass hashes all prefixes of the text, one backward pass all suffixes, up to
 * the longest lengths on the level. Then each shape of the level takes one probe. Wildcards with literals in between:
 * one probe at each position of the text, for the gram at that position.
 */
export class WildcardLookup {
  /** Hash of the first `n` bytes of the text, by `n`. */
  #prefixes = new Int32Array(256);
  /** Hash of the last `n` bytes of the text, read backwards, by `n`. */
  #suffixes = new Int32Array(256);
  /** Reused, so that a probe allocates nothing. */
  readonly #ends = { prefixHash: 0, prefixLength: 0, suffixHash: 0, suffixLength: 0 };
  /** By slot of the table: the number of the last text that visited it, so that a repeated gram is probed once. */
  #seen = new Uint32Array(0);
  #text = 0;
  /** The best entry so far, and its position in definition order. */
  #best = -1;
  #bestOrder = 0;

  /** The entry that matches `bytes[start, end)`, or -1. */
  find(rules: CompiledRules, level: number, bytes: Uint8Array, start: number, end: number): number {
    const record = rules.words[HEADER.levels] + level * LEVEL.words;
    this.#best = -1;
    this.#bestOrder = 0x7fffffff;
    if (rules.words[record + LEVEL.shapeCount] > 0) this.#findByEnds(rules, level, bytes, start, end);
    if (rules.words[record + LEVEL.gramLengths] !== 0) this.#findByGrams(rules, level, bytes, start, end);
    return this.#best;
  }

  #findByEnds(rules: CompiledRules, level: number, bytes: Uint8Array, start: number, end: number): void {
    const words = rules.words;
    const record = words[HEADER.levels] + level * LEVEL.words;
    this.#hashEnds(
      bytes,
      { start, end },
      words[record + LEVEL.longestPrefix],
      words[record + LEVEL.longestSuffix],
    );
    const ends = this.#ends;
    let shape = words[HEADER.shapes] + words[record + LEVEL.shapes];
    for (let i = 0; i < words[record + LEVEL.shapeCount]; i++, shape += SHAPE.words) {
      ends.prefixLength = words[shape + SHAPE.prefix];
      ends.suffixLength = words[shape + SHAPE.suffix];
      if (ends.prefixLength + ends.suffixLength > end - start) continue;
      ends.prefixHash = this.#prefixes[ends.prefixLength];
      ends.suffixHash = this.#suffixes[ends.suffixLength];
      const slot = slotOf(rules, level, endsHash(ends));
      if (slot >= 0) this.#tryChain(rules, slot, bytes, start, end);
    }
  }

  #findByGrams(rules: CompiledRules, level: number, bytes: Uint8Array, start: number, end: number): void {
    const words = rules.words;
    const lengths = words[words[HEADER.levels] + level * LEVEL.words + LEVEL.gramLengths];
    this.#beginText(words[HEADER.wildcardMask] + 1);
    for (let length = 1; length <= LONGEST_GRAM; length++) {
      if ((lengths & (1 << length)) === 0) continue;
      for (let at = start; at + length <= end; at++) {
        const slot = slotOf(rules, level, gramHash(bytes, at, length));
        if (slot < 0) continue;
        const index = (slot - words[HEADER.wildcardTable]) / EDGE_WORDS;
        if (this.#seen[index] === this.#text) continue;
        this.#seen[index] = this.#text;
        this.#tryChain(rules, slot, bytes, start, end);
      }
    }
  }

  #beginText(slots: number): void {
    if (this.#seen.length < slots) this.#seen = new Uint32Array(slots);
    this.#text = (this.#text + 1) >>> 0;
    if (this.#text === 0) {
      this.#seen.fill(0);
      this.#text = 1;
    }
  }

  /** Chains are in definition order, so the search ends at the first entry that is later than the best one. */
  #tryChain(rules: CompiledRules, slot: number, bytes: Uint8Array, start: number, end: number): void {
    const words = rules.words;
    const entries = words[HEADER.entries];
    for (let entry = words[slot + 2] - 1; entry >= 0; ) {
      const record = entries + entry * ENTRY.words;
      if (words[record + ENTRY.order] > this.#bestOrder) return;
      if (matches(rules, entry, bytes, start, end)) {
        this.#best = entry;
        this.#bestOrder = words[record + ENTRY.order];
        return;
      }
      entry = words[record + ENTRY.nextWildcard] - 1;
    }
  }

  #hashEnds(
    bytes: Uint8Array,
    text: { start: number; end: number },
    longestPrefix: number,
    longestSuffix: number,
  ): void {
    const length = text.end - text.start;
    const prefixes = Math.min(longestPrefix, length);
    const suffixes = Math.min(longestSuffix, length);
    if (prefixes >= this.#prefixes.length) this.#prefixes = new Int32Array(prefixes * 2);
    if (suffixes >= this.#suffixes.length) this.#suffixes = new Int32Array(suffixes * 2);
    let hash = FNV_START;
    this.#prefixes[0] = hash;
    for (let n = 0; n < prefixes; n++) {
      hash = fnvStep(hash, bytes[text.start + n]);
      this.#prefixes[n + 1] = hash;
    }
    hash = FNV_START;
    this.#suffixes[0] = hash;
    for (let n = 0; n < suffixes; n++) {
      hash = fnvStep(hash, bytes[text.end - 1 - n]);
      this.#suffixes[n + 1] = hash;
    }
  }
}

/** The index of the slot with this level and hash, or -1. */
function slotOf(rules: CompiledRules, level: number, hash: number): number {
  const words = rules.words;
  const table = words[HEADER.wildcardTable];
  const mask = words[HEADER.wildcardMask];
  for (let at = edgeHash(level, hash) & mask; ; at = (at + 1) & mask) {
    const slot = table + at * EDGE_WORDS;
    if (words[slot] === 0) return -1;
    if (words[slot] === level + 1 && words[slot + 1] === hash) return slot;
  }
}

/** Compares head, tail and the literals in between, leftmost first and without overlap. */
function matches(
  rules: CompiledRules,
  entry: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const words = rules.words;
  const record = words[HEADER.entries] + entry * ENTRY.words;
  const composite = words[record + ENTRY.composite];
  const prefix = words[record + ENTRY.prefixLength];
  const suffix = words[record + ENTRY.suffixLength];
  if (prefix + suffix > end - start) return false;
  if (!rules.holds(composite, prefix, bytes, start, start + prefix)) return false;
  const tail = composite + words[record + ENTRY.compositeLength] - suffix;
  if (!rules.holds(tail, suffix, bytes, end - suffix, end)) return false;
  let at = start + prefix;
  const stop = end - suffix;
  let part = words[HEADER.parts] + words[record + ENTRY.parts];
  for (let i = 0; i < words[record + ENTRY.partCount]; i++, part += PART.words) {
    at = indexOfPart(rules, words[part + PART.text], words[part + PART.length], bytes, at, stop);
    if (at < 0) return false;
    at += words[part + PART.length];
  }
  return true;
}

/** Texts up to this length are searched byte by byte. For longer texts, the built-in search is worth its two views. */
const SHORT_TEXT_BYTES = 64;

/** The first position of a literal of the pool in `bytes[from, stop)`, or -1. */
function indexOfPart(
  rules: CompiledRules,
  offset: number,
  length: number,
  bytes: Uint8Array,
  from: number,
  stop: number,
): number {
  if (stop - from > SHORT_TEXT_BYTES) {
    // A caller may send megabytes; comparing at each position would block the thread.
    const part = rules.pool.subarray(offset, offset + length);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, stop - from);
    const found = text.indexOf(part);
    return found < 0 ? -1 : from + found;
  }
  for (let at = from; at + length <= stop; at++) {
    if (rules.holds(offset, length, bytes, at, at + length)) return at;
  }
  return -1;
}
