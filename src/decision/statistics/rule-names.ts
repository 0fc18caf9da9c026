import { FNV_START, fnvStep, scramble } from '../../base/hash.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { EXTRA_ROW, LEVEL_END, LIMIT } from '../../rules/layout.ts';
import { sanitiseStatName } from '../../stats/names.ts';

/** Words of a slot: the hash of the name, and limit + 1 (0: free). */
const SLOT_WORDS = 2;

/** Number of limits to index at a time, which takes a few tenths of a millisecond. */
const LIMITS_AT_ONCE = 1_024;

const UNDERSCORE = 95;

/** Bytes of paths that names have as an underscore or a dot. */
const CHANGEABLE: ReadonlySet<number> = new Set(Buffer.from(`:|\r\n.${LEVEL_END}`));

/** By byte: the byte to hash, so that texts with the same sanitized name have the same hash. */
const HASHED = Uint8Array.from({ length: 256 }, (_, byte) => (CHANGEABLE.has(byte) ? UNDERSCORE : byte));

/**
 * Finds limits by the name of their statistics. Names are built only if hashes match: a map with the names of all rules
 * would take more memory than the rules, and much time to build.
 */
export class RuleNames {
  /** Limits with the same name as an earlier limit, and that limit. */
  readonly twins = new Map<number, number>();
  readonly #rules: CompiledRules;
  readonly #table: Int32Array;
  readonly #mask: number;
  #indexed = 0;

  constructor(rules: CompiledRules) {
    let slots = 16;
    while (slots < 2 * rules.rowCount) slots *= 2;
    this.#rules = rules;
    this.#table = new Int32Array(slots * SLOT_WORDS);
    this.#mask = slots - 1;
  }

  /** Indexes some more limits. Returns false when all are indexed; lookups are incomplete before. */
  indexSome(): boolean {
    const end = Math.min(this.#indexed + LIMITS_AT_ONCE, this.#rules.rowCount);
    for (let limit = this.#indexed; limit < end; limit++) {
      const first = this.limitNamedAs(this.#rules, limit);
      if (first >= 0) this.twins.set(limit, first);
      else this.#insert(limit);
    }
    this.#indexed = end;
    return end < this.#rules.rowCount;
  }

  /** The sanitised name of a limit. */
  name(limit: number): string {
    return nameOf(this.#rules, limit);
  }

  /** The first limit with this sanitised name, or -1. */
  limitNamed(name: string): number {
    const bytes = Buffer.from(name);
    return this.#find(
      scramble(hashOver(FNV_START, bytes, 0, bytes.length)),
      limit => this.name(limit) === name,
    );
  }

  /** The first limit with the name that `limit` has in `rules`, or -1. */
  limitNamedAs(rules: CompiledRules, limit: number): number {
    return this.#find(
      hashOfRow(rules, limit),
      own => this.#hasPath(own, rules, limit) || this.name(own) === nameOf(rules, limit),
    );
  }

  /** Whether a row has the same path as a row of other rules. */
  #hasPath(own: number, others: CompiledRules, other: number): boolean {
    const rules = this.#rules;
    const limit = rules.limitOf(own);
    const otherLimit = others.limitOf(other);
    const start = others.limit(otherLimit, LIMIT.path);
    const end = start + others.limit(otherLimit, LIMIT.pathLength);
    const path = rules.limit(limit, LIMIT.path);
    if (!rules.holds(path, rules.limit(limit, LIMIT.pathLength), others.pool, start, end)) return false;
    if (own === limit || other === otherLimit) return own === limit && other === otherLimit;
    const level = others.extraRow(other, EXTRA_ROW.level);
    const levelEnd = level + others.extraRow(other, EXTRA_ROW.levelLength);
    const ownLevel = rules.extraRow(own, EXTRA_ROW.level);
    return rules.holds(ownLevel, rules.extraRow(own, EXTRA_ROW.levelLength), others.pool, level, levelEnd);
  }

  #find(hash: number, isIt: (limit: number) => boolean): number {
    for (let at = hash & this.#mask; ; at = (at + 1) & this.#mask) {
      const limit = this.#table[at * SLOT_WORDS + 1] - 1;
      if (limit < 0) return -1;
      if (this.#table[at * SLOT_WORDS] === hash && isIt(limit)) return limit;
    }
  }

  #insert(limit: number): void {
    const rules = this.#rules;
    const hash = hashOfRow(rules, limit);
    let at = hash & this.#mask;
    while (this.#table[at * SLOT_WORDS + 1] !== 0) at = (at + 1) & this.#mask;
    this.#table[at * SLOT_WORDS] = hash;
    this.#table[at * SLOT_WORDS + 1] = limit + 1;
  }
}

function nameOf(rules: CompiledRules, limit: number): string {
  return sanitiseStatName(rules.statisticsPath(limit));
}

/** The hash of the name of a row. */
function hashOfRow(rules: CompiledRules, row: number): number {
  const limit = rules.limitOf(row);
  const path = rules.limit(limit, LIMIT.path);
  const hash = hashOver(FNV_START, rules.pool, path, path + rules.limit(limit, LIMIT.pathLength));
  if (row === limit) return scramble(hash);
  const level = rules.extraRow(row, EXTRA_ROW.level);
  const end = level + rules.extraRow(row, EXTRA_ROW.levelLength);
  return scramble(hashOver(fnvStep(hash, UNDERSCORE), rules.pool, level, end));
}

function hashOver(start: number, bytes: Uint8Array, from: number, end: number): number {
  let hash = start;
  for (let at = from; at < end; at++) hash = fnvStep(hash, HASHED[bytes[at]]);
  return hash;
}
