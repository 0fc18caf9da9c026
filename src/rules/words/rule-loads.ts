import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { LIMIT } from '../layout.ts';
import { MAX_REPORTED_FAULTS, type RuleFault } from '../rule-set.ts';
import { compiledLimitInWords } from './limit-words.ts';

/** Number of loads that are remembered, and maximum number of limits in each list of a difference. */
export const MAX_LOADS = 20;
export const MAX_LISTED = 50;

/** Number of limits to compare before other work may run. */
const LIMITS_AT_ONCE = 512;

/** A limit that is in both sets of rules, in words. */
interface ChangedLimit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What is different from the rules before. The lists have at most {@link MAX_LISTED} limits. */
interface RuleDifference {
  readonly addedCount: number;
  readonly removedCount: number;
  readonly changedCount: number;
  /** Paths. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly ChangedLimit[];
}

/** One load of rules. */
export interface RuleLoad {
  readonly atMs: number;
  /** `failed`: the rules could not be compiled for a reason outside them. */
  readonly outcome: 'active' | 'refused' | 'failed';
  /** Why the rules were not loaded; empty if they were. */
  readonly reasons: readonly string[];
  /** The faults with their places, if the reasons are faults of rule files. */
  readonly faults: readonly RuleFault[];
  /** Number of domains and limits; null if the rules were not loaded. */
  readonly size: { readonly domains: number; readonly limits: number } | null;
  /** See `ruleDigest`; null if the rules were not loaded. */
  readonly digest: string | null;
  /** Null for the first load, and for rules that were not loaded. */
  readonly difference: RuleDifference | null;
}

/** Rules that are active from now on. */
interface LoadedRules {
  readonly rules: CompiledRules;
  readonly digest: string;
}

/** The last loads of rules, for operators. */
export class RuleLoads {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #loads: RuleLoad[] = [];

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** The latest load first. */
  get all(): readonly RuleLoad[] {
    return this.#loads;
  }

  notLoaded(
    outcome: 'refused' | 'failed',
    reasons: readonly string[],
    faults: readonly RuleFault[] = [],
  ): void {
    this.#add({
      atMs: this.#clock.nowMs(),
      outcome,
      reasons: reasons.slice(0, MAX_REPORTED_FAULTS),
      faults: faults.slice(0, MAX_REPORTED_FAULTS),
      size: null,
      digest: null,
      difference: null,
    });
  }

  /** Compares the sets in small steps, so that decisions continue. */
  async loaded({ rules, digest }: LoadedRules, before: CompiledRules | null): Promise<void> {
    const atMs = this.#clock.nowMs();
    const difference = before === null ? null : await differenceOf(before, rules);
    const size = { domains: rules.domainCount, limits: rules.limitCount };
    this.#add({ atMs, outcome: 'active', reasons: [], faults: [], size, digest, difference });
  }

  #add(load: RuleLoad): void {
    this.#loads = [load, ...this.#loads].slice(0, MAX_LOADS);
  }
}

/** Limits are the same if they have the same path. Of several with one path, the last one is compared. */
async function differenceOf(before: CompiledRules, after: CompiledRules): Promise<RuleDifference> {
  const old = new Map<string, number>();
  for (let limit = 0; limit < before.limitCount; limit++) {
    if (limit % LIMITS_AT_ONCE === LIMITS_AT_ONCE - 1) await nextTurn();
    old.set(before.path(limit), limit);
  }
  const added: string[] = [];
  const changed: ChangedLimit[] = [];
  const seen = new Set<string>();
  let addedCount = 0;
  let changedCount = 0;
  for (let limit = 0; limit < after.limitCount; limit++) {
    if (limit % LIMITS_AT_ONCE === LIMITS_AT_ONCE - 1) await nextTurn();
    const path = after.path(limit);
    if (seen.has(path)) continue;
    seen.add(path);
    const same = old.get(path);
    if (same === undefined) {
      if (addedCount++ < MAX_LISTED) added.push(path);
    } else if (!isSame(before, same, after, limit)) {
      const words = { before: compiledLimitInWords(before, same), after: compiledLimitInWords(after, limit) };
      if (changedCount++ < MAX_LISTED) changed.push({ path, ...words });
    }
  }
  const removed: string[] = [];
  let removedCount = 0;
  for (const path of old.keys()) if (!seen.has(path) && removedCount++ < MAX_LISTED) removed.push(path);
  return { addedCount, removedCount, changedCount, added, removed, changed };
}

function isSame(before: CompiledRules, limit: number, after: CompiledRules, other: number): boolean {
  for (const field of [LIMIT.requestsPerUnit, LIMIT.unit, LIMIT.flags]) {
    if (before.limit(limit, field) !== after.limit(other, field)) return false;
  }
  if (termsText(before, limit) !== termsText(after, other)) return false;
  return JSON.stringify(before.quotaOf(limit)) === JSON.stringify(after.quotaOf(other));
}

/** The end of the cache key tells apart all ways of counting. */
function termsText(rules: CompiledRules, limit: number): string {
  const number = rules.limit(limit, LIMIT.terms) - 1;
  if (number < 0) return '';
  const { algorithm, window, burst, penalty, classes, afterLimit, lease, scale, tag } = rules.terms(number);
  const own = JSON.stringify([penalty, classes, afterLimit, lease, scale]);
  return `${algorithm} ${window} ${burst} ${own} ${Buffer.from(tag).toString('latin1')}`;
}
