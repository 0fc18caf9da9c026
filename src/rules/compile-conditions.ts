import type { ByteWriter } from '../base/bytes.ts';
import { WordList } from '../base/collections/word-list.ts';
import { FNV_START, fnvOver } from '../base/hash.ts';
import type { Edge } from './compile-tables.ts';
import { ADDRESS_WORDS } from './conditions/addresses.ts';
import { conditionLines, groupingLine } from './conditions/condition-text.ts';
import { flattened, intervalTable, type Span } from './conditions/intervals.ts';
import { type ListValue, listValues, plainValues } from './conditions/list-values.ts';
import { NUMBER_WORDS } from './conditions/numbers.ts';
import { type ConditionEntry, networkSpans, ofKind, rangeSpans } from './conditions/spans.ts';
import { CONDITION, EXCLUSION, LEVEL, PATTERN, VALUE_SET } from './layout.ts';
import { compilePattern } from './patterns/compile-pattern.ts';
import { writeAutomaton } from './patterns/write-automaton.ts';
import type { RuleEntry } from './rule-set.ts';

/** An entry of a level, and its number. */
export interface NumberedEntry {
  readonly rule: RuleEntry;
  readonly entry: number;
}

/** The sections of compiled rules that several of the others are built with. */
interface SharedSections {
  readonly pool: ByteWriter;
  readonly levels: WordList;
  readonly edges: Edge[];
}

/** Compiles the conditions of entries into value sets; see `VALUE_SET`. */
export class ConditionSections {
  readonly valueSets = new WordList();
  readonly intervals = new WordList();
  readonly patterns = new WordList();
  readonly automata = new WordList();
  readonly exclusions = new WordList();
  readonly conditions = new WordList();
  /** By level and hash of the key: the number of the value set. */
  readonly setEdges: Edge[] = [];
  readonly #shared: SharedSections;

  constructor(shared: SharedSections) {
    this.#shared = shared;
  }

  /** Adds the conditions of all entries of a level. */
  addLevel(level: number, entries: readonly NumberedEntry[]): void {
    if (entries.every(({ rule }) => rule.condition === undefined)) return;
    for (const [key, ofKey] of Map.groupBy(entries, ({ rule }) => rule.key)) {
      const conditions = ofKey.flatMap(({ rule: { condition }, entry }) =>
        condition === undefined ? [] : [{ condition, entry }],
      );
      if (conditions.length > 0)
        this.#addSet(level, key, conditions, plainValues(ofKey.map(({ rule }) => rule)));
    }
  }

  /** Records how an entry is written. */
  describe(entry: number, { condition, groupBy }: RuleEntry): void {
    const lines = [
      ...(condition === undefined ? [] : conditionLines(condition)),
      ...(groupBy === undefined ? [] : [groupingLine(groupBy)]),
    ];
    if (lines.length === 0) return;
    const at = this.conditions.allocate(CONDITION.words);
    const { words } = this.conditions;
    words[at + CONDITION.entry] = entry;
    words[at + CONDITION.text] = this.#shared.pool.length;
    this.#shared.pool.text(lines.join('\n'));
    words[at + CONDITION.textLength] = this.#shared.pool.length - words[at + CONDITION.text];
  }

  #addSet(
    level: number,
    key: string,
    conditions: readonly ConditionEntry[],
    plain: ReadonlySet<string>,
  ): void {
    const { pool, levels, edges } = this.#shared;
    const at = this.valueSets.allocate(VALUE_SET.words);
    levels.words[level * LEVEL.words + LEVEL.valueSets]++;
    const keyStart = pool.length;
    pool.text(key);
    const keyEnd = pool.length;
    const hash = fnvOver(FNV_START, pool.bytes, keyStart, keyEnd);
    this.setEdges.push({ level, hash, entry: at / VALUE_SET.words });
    const { exact, folded } = listValues(plain, ofKind(conditions, 'in'));
    const foldedLevel = folded.length === 0 ? -1 : this.#newLevel();
    for (const value of exact) edges.push(this.#valueEdge(level, key, value));
    for (const value of folded) edges.push(this.#valueEdge(foldedLevel, key, value));
    const networks = ofKind(conditions, 'cidr');
    const spansOf = (family: 4 | 6) =>
      networks.flatMap(({ condition, entry }) => networkSpans(condition, family, entry));
    const ranges = rangeSpans(ofKind(conditions, 'range'));
    const fields = {
      [VALUE_SET.key]: keyStart,
      [VALUE_SET.keyLength]: keyEnd - keyStart,
      [VALUE_SET.folded]: foldedLevel + 1,
      [VALUE_SET.ipv4]: this.#addIntervals(spansOf(4), 1),
      [VALUE_SET.ipv6]: this.#addIntervals(spansOf(6), ADDRESS_WORDS),
      [VALUE_SET.numbers]: this.#addIntervals(ranges, NUMBER_WORDS),
      ...this.#addPatterns(conditions),
      ...this.#addExclusions(key, conditions),
    };
    for (const [field, value] of Object.entries(fields)) this.valueSets.words[at + Number(field)] = value;
  }

  #newLevel(): number {
    return this.#shared.levels.allocate(LEVEL.words) / LEVEL.words;
  }

  #valueEdge(level: number, key: string, { value, entry }: ListValue): Edge {
    const { pool } = this.#shared;
    const bytes = Buffer.from(`${key}_${value}`);
    const length = bytes.length - Buffer.byteLength(key) - 1;
    const place = pool.length;
    for (let shift = 0; shift < 32; shift += 8) pool.byte((length >>> shift) & 0xff);
    pool.copy(bytes, bytes.length - length, bytes.length);
    return { level, hash: fnvOver(FNV_START, bytes, 0, bytes.length), entry, value: place + 1 };
  }

  /** Returns the offset of a table + 1, or 0 if there are no spans. */
  #addIntervals(spans: readonly Span[], keyWords: number): number {
    if (spans.length === 0) return 0;
    const table = intervalTable(flattened(spans), keyWords);
    const at = this.intervals.allocate(table.length);
    this.intervals.words.set(table, at);
    return at + 1;
  }

  #addPatterns(conditions: readonly ConditionEntry[]): Record<number, number> {
    const patterns = ofKind(conditions, 'matches');
    const first = this.patterns.length / PATTERN.words;
    for (const { condition, entry } of patterns) {
      const automaton = writeAutomaton(compilePattern(condition.pattern, condition), this.automata);
      const at = this.patterns.allocate(PATTERN.words);
      this.patterns.words[at + PATTERN.entry] = entry;
      this.patterns.words[at + PATTERN.automaton] = automaton;
    }
    return { [VALUE_SET.patterns]: first, [VALUE_SET.patternCount]: patterns.length };
  }

  /** The conditions that an entry excludes are those of a level, on which a request must match nothing. */
  #addExclusions(key: string, conditions: readonly ConditionEntry[]): Record<number, number> {
    const exclusions = ofKind(conditions, 'not');
    const first = this.exclusions.length / EXCLUSION.words;
    this.exclusions.allocate(exclusions.length * EXCLUSION.words);
    for (const [i, { condition, entry }] of exclusions.entries()) {
      const level = this.#newLevel();
      this.#addSet(
        level,
        key,
        condition.conditions.map(each => ({ condition: each, entry })),
        new Set(),
      );
      const at = (first + i) * EXCLUSION.words;
      this.exclusions.words[at + EXCLUSION.entry] = entry;
      this.exclusions.words[at + EXCLUSION.level] = level;
    }
    return { [VALUE_SET.exclusions]: first, [VALUE_SET.exclusionCount]: exclusions.length };
  }
}
