import type { ByteWriter } from '../base/bytes.ts';
import { WordList } from '../base/collections/word-list.ts';
import { FNV_START, fnvBackward, fnvOver } from '../base/hash.ts';
import type { NumberedEntry } from './compile-conditions.ts';
import { chooseGrams, type GramCandidate } from './compile-grams.ts';
import type { Edge } from './compile-tables.ts';
import { ENTRY, endsHash, LEVEL, PART, SHAPE } from './layout.ts';
import { isWildcard } from './rule-set.ts';

/** The sections of compiled rules that several of the others are built with. */
interface SharedSections {
  readonly pool: ByteWriter;
  readonly levels: WordList;
  readonly entries: WordList;
}

/** A wildcard, divided at its `*`. */
interface Wildcard {
  /** The lengths of its ends. */
  readonly prefix: number;
  readonly suffix: number;
  readonly endsHash: number;
  /** The texts between the first and the last `*`. */
  readonly literals: readonly Uint8Array[];
}

/** Compiles the wildcards of levels; see `WildcardLookup`. */
export class WildcardSections {
  readonly shapes = new WordList();
  readonly parts = new WordList();
  readonly edges: Edge[] = [];
  readonly #shared: SharedSections;

  constructor(shared: SharedSections) {
    this.#shared = shared;
  }

  /** Adds the wildcards among the entries of a level. */
  addLevel(level: number, entries: readonly NumberedEntry[]): void {
    const shapes = new Map<string, Wildcard>();
    const withGrams: GramCandidate[] = [];
    let order = 0;
    for (const { rule, entry } of entries) {
      if (!isWildcard(rule)) continue;
      const wildcard = this.#addWildcard(rule.composite, entry, order++);
      if (wildcard.literals.length > 0) withGrams.push({ entry, literals: wildcard.literals });
      else {
        this.edges.push({ level, hash: wildcard.endsHash, entry });
        shapes.set(`${wildcard.prefix}/${wildcard.suffix}`, wildcard);
      }
    }
    const grams = chooseGrams(withGrams);
    for (const { entry, hash } of grams.chosen) this.edges.push({ level, hash, entry });
    this.#shared.levels.words[level * LEVEL.words + LEVEL.gramLengths] = grams.lengths;
    this.#describeShapes(level, [...shapes.values()]);
  }

  #describeShapes(level: number, shapes: readonly Wildcard[]): void {
    const at = level * LEVEL.words;
    const first = this.shapes.allocate(shapes.length * SHAPE.words);
    shapes.forEach((shape, i) => {
      this.shapes.words[first + i * SHAPE.words + SHAPE.prefix] = shape.prefix;
      this.shapes.words[first + i * SHAPE.words + SHAPE.suffix] = shape.suffix;
    });
    const levels = this.#shared.levels.words;
    levels[at + LEVEL.shapes] = first;
    levels[at + LEVEL.shapeCount] = shapes.length;
    levels[at + LEVEL.longestPrefix] = shapes.reduce((longest, shape) => Math.max(longest, shape.prefix), 0);
    levels[at + LEVEL.longestSuffix] = shapes.reduce((longest, shape) => Math.max(longest, shape.suffix), 0);
  }

  /** Records the ends of a wildcard and the literals between its first and last `*`. */
  #addWildcard(composite: string, entry: number, order: number): Wildcard {
    const { pool, entries } = this.#shared;
    const at = entry * ENTRY.words;
    const start = entries.words[at + ENTRY.composite];
    const end = start + entries.words[at + ENTRY.compositeLength];
    const texts = composite.split('*');
    const prefix = Buffer.byteLength(texts[0]);
    const suffix = Buffer.byteLength(texts[texts.length - 1]);
    const middle = texts.slice(1, -1).filter(text => text !== '');
    const parts = this.parts.length;
    for (const literal of middle) this.#addPart(literal);
    const { words } = entries;
    words[at + ENTRY.order] = order;
    words[at + ENTRY.prefixLength] = prefix;
    words[at + ENTRY.suffixLength] = suffix;
    words[at + ENTRY.parts] = parts;
    words[at + ENTRY.partCount] = middle.length;
    const hash = endsHash({
      prefixHash: fnvOver(FNV_START, pool.bytes, start, start + prefix),
      prefixLength: prefix,
      suffixHash: fnvBackward(pool.bytes, end - suffix, end),
      suffixLength: suffix,
    });
    return { prefix, suffix, endsHash: hash, literals: middle.map(text => Buffer.from(text)) };
  }

  #addPart(literal: string): void {
    const { pool } = this.#shared;
    const at = this.parts.allocate(PART.words);
    this.parts.words[at + PART.text] = pool.length;
    pool.text(literal);
    this.parts.words[at + PART.length] = pool.length - this.parts.words[at + PART.text];
  }
}
