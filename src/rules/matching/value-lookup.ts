import { fnvStep } from '../../base/hash.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { ADDRESS_WORDS, readAddress } from '../conditions/addresses.ts';
import { findInterval } from '../conditions/intervals.ts';
import { lowerCaseByte } from '../conditions/list-values.ts';
import { NUMBER_WORDS, readNumber, writeOrdered } from '../conditions/numbers.ts';
import { EDGE_WORDS, EXCLUSION, edgeHash, HEADER, LEVEL, PATTERN, VALUE_SET } from '../layout.ts';
import { automatonMatches } from '../patterns/automaton-matches.ts';
import { findEdge } from './edge-lookup.ts';
import { MATCHED } from './matched.ts';

/** The text `key_value` of a level of a request. */
export interface LevelText {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly keyEnd: number;
  readonly end: number;
  readonly keyHash: number;
  readonly textHash: number;
  /** The value as the request has it: in `values[valueStart, valueEnd)`. */
  readonly values: Uint8Array;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** Finds the entry of a level whose condition the value of a request meets. Without allocation. */
export class ValueLookup {
  /** How the last text was matched: one of {@link MATCHED}. */
  how = 0;
  readonly #address = new Int32Array(ADDRESS_WORDS);
  readonly #number = new Int32Array(NUMBER_WORDS);
  /** The text with the value in lower case. */
  #folded = new Uint8Array(256);

  /** Whether entries of a level have conditions. */
  isNeeded({ words }: CompiledRules, level: number): boolean {
    return words[words[HEADER.levels] + level * LEVEL.words + LEVEL.valueSets] > 0;
  }

  /** By list, network, range or pattern, except the values of lists that {@link findEdge} finds. The entry, or -1. */
  find(rules: CompiledRules, level: number, text: LevelText): number {
    const set = this.#setOf(rules, level, text);
    return set < 0 ? -1 : this.#findIn(rules, set, text);
  }

  /** By exclusion: the first entry with a `not` none of whose conditions is met. The entry, or -1. */
  findExclusion(rules: CompiledRules, level: number, text: LevelText): number {
    const set = this.#setOf(rules, level, text);
    if (set < 0) return -1;
    const { words } = rules;
    const count = words[set + VALUE_SET.exclusionCount];
    let at = words[HEADER.exclusions] + words[set + VALUE_SET.exclusions] * EXCLUSION.words;
    for (let i = 0; i < count; i++, at += EXCLUSION.words) {
      if (this.#meetsAny(rules, words[at + EXCLUSION.level], text)) continue;
      this.how = MATCHED.exclusion;
      return words[at + EXCLUSION.entry];
    }
    return -1;
  }

  #meetsAny(rules: CompiledRules, level: number, text: LevelText): boolean {
    const { bytes, start, keyEnd, end, textHash } = text;
    if (findEdge(rules, level, textHash, bytes, start, keyEnd, end) >= 0) return true;
    return this.find(rules, level, text) >= 0;
  }

  /** The index of the first word of the value set of a key on a level, or -1. */
  #setOf(rules: CompiledRules, level: number, { bytes, start, keyEnd, keyHash }: LevelText): number {
    const { words } = rules;
    const table = words[HEADER.valueSetTable];
    const mask = words[HEADER.valueSetMask];
    for (let at = edgeHash(level, keyHash) & mask; ; at = (at + 1) & mask) {
      const slot = table + at * EDGE_WORDS;
      if (words[slot] === 0) return -1;
      if (words[slot] !== level + 1 || words[slot + 1] !== keyHash) continue;
      const set = words[HEADER.valueSets] + (words[slot + 2] - 1) * VALUE_SET.words;
      const key = words[set + VALUE_SET.key];
      if (rules.holds(key, words[set + VALUE_SET.keyLength], bytes, start, keyEnd)) return set;
    }
  }

  #findIn(rules: CompiledRules, set: number, text: LevelText): number {
    const { words } = rules;
    let entry = words[set + VALUE_SET.folded] === 0 ? -1 : this.#findFolded(rules, set, text);
    this.how = MATCHED.folded;
    if (entry >= 0) return entry;
    const hasNetworks = (words[set + VALUE_SET.ipv4] | words[set + VALUE_SET.ipv6]) !== 0;
    entry = hasNetworks ? this.#findNetwork(rules, set, text) : -1;
    this.how = MATCHED.network;
    if (entry >= 0) return entry;
    entry = words[set + VALUE_SET.numbers] === 0 ? -1 : this.#findRange(rules, set, text);
    this.how = MATCHED.range;
    if (entry >= 0) return entry;
    this.how = MATCHED.pattern;
    return words[set + VALUE_SET.patternCount] === 0 ? -1 : findPattern(rules, set, text);
  }

  #findFolded(rules: CompiledRules, set: number, { bytes, start, keyEnd, end, keyHash }: LevelText): number {
    const length = end - start;
    if (this.#folded.length < length) this.#folded = new Uint8Array(length * 2);
    const folded = this.#folded;
    for (let i = 0; i < keyEnd - start; i++) folded[i] = bytes[start + i];
    let hash = keyHash;
    for (let i = keyEnd - start; i < length; i++) {
      const byte = bytes[start + i];
      folded[i] = lowerCaseByte(byte);
      hash = fnvStep(hash, folded[i]);
    }
    const level = rules.words[set + VALUE_SET.folded] - 1;
    const slot = findEdge(rules, level, hash, folded, 0, keyEnd - start, length);
    return slot < 0 ? -1 : rules.words[slot + 2] - 1;
  }

  #findNetwork({ words }: CompiledRules, set: number, { bytes, keyEnd, end }: LevelText): number {
    const family = readAddress(bytes, keyEnd + 1, end, this.#address);
    if (family === 0) return -1;
    const table = words[set + (family === 4 ? VALUE_SET.ipv4 : VALUE_SET.ipv6)] - 1;
    if (table < 0) return -1;
    return findInterval(
      words,
      words[HEADER.intervals] + table,
      family === 4 ? 1 : ADDRESS_WORDS,
      this.#address,
    );
  }

  #findRange({ words }: CompiledRules, set: number, { bytes, keyEnd, end }: LevelText): number {
    const number = readNumber(bytes, keyEnd + 1, end);
    if (Number.isNaN(number)) return -1;
    writeOrdered(number, this.#number);
    const table = words[HEADER.intervals] + words[set + VALUE_SET.numbers] - 1;
    return findInterval(words, table, NUMBER_WORDS, this.#number);
  }
}

function findPattern({ words }: CompiledRules, set: number, { bytes, keyEnd, end }: LevelText): number {
  const count = words[set + VALUE_SET.patternCount];
  let at = words[HEADER.patterns] + words[set + VALUE_SET.patterns] * PATTERN.words;
  for (let i = 0; i < count; i++, at += PATTERN.words) {
    const automaton = words[HEADER.automata] + words[at + PATTERN.automaton];
    if (automatonMatches(words, automaton, bytes, keyEnd + 1, end)) return words[at + PATTERN.entry];
  }
  return -1;
}
