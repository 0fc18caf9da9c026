import { FNV_START, fnvStep, scramble } from '../../base/hash.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LEVEL_END, LIMIT } from '../../rules/layout.ts';
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
    return this.#find(hashOf(bytes, 0, bytes.length), limit => this.name(limit) === name);
  }

  /** The first limit with the name that `limit` has in `rules`, or -1. */
  limitNamedAs(rules: CompiledRules, limit: number): number {
    const start = rules.limit(limit, LIMIT.path);
    const end = start + rules.limit(limit, LIMIT.pathLength);
    const { pool } = rules;
    return this.#find(
      hashOf(pool, start, end),
      own => this.#hasPath(own, pool, start, end) || this.name(own) === nameOf(rules, limit),
    );
  }

  #hasPath(limit: number, bytes: Uint8Array, start: number, end: number): boolean {
    const rules = this.#rules;
    const path = rules.limit(limit, LIMIT.path);
    return rules.holds(path, rules.limit(limit, LIMIT.pathLength), bytes, start, end);
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
    const start = rules.limit(limit, LIMIT.path);
    const hash = hashOf(rules.pool, start, start + rules.limit(limit, LIMIT.pathLength));
    let at = hash & this.#mask;
    while (this.#table[at * SLOT_WORDS + 1] !== 0) at = (at + 1) & this.#mask;
    this.#table[at * SLOT_WORDS] = hash;
    this.#table[at * SLOT_WORDS + 1] = limit + 1;
  }
}

function nameOf(rules: CompiledRules, limit: number): string {
  return sanitiseStatName(rules.statisticsPath(limit));
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = FNV_START;
  for (let at = start; at < end; at++) hash = fnvStep(hash, HASHED[bytes[at]]);
  return scramble(hash);
}
