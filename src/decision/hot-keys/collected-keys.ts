import { type KeyTable, WAYS } from './key-table.ts';
import { type KeyText, readKeyText, TEXT_BYTES } from './key-text.ts';
import { bucketOfKey, bucketOfRule, type Slice } from './span-sketch.ts';

/** Standard deviations that count as the error of sampling. */
const DEVIATIONS = 3;

/** Two words of a keyed hash of the path of a rule. */
export interface RuleIdentity {
  readonly ruleA: number;
  readonly ruleB: number;
}

/** The identity of overrides, which belong to no rule. */
export const OVERRIDE: RuleIdentity = { ruleA: 0, ruleB: 0 };

/** A key with its hits in all slices. */
interface CountedKey extends RuleIdentity {
  readonly limit: number;
  readonly text: KeyText;
  readonly hits: number;
  readonly refused: number;
  readonly error: number;
}

interface Sum extends RuleIdentity {
  readonly tag: number;
  readonly check: number;
  readonly limit: number;
  /** A copy of the text. */
  readonly text: Uint8Array;
  hits: number;
  refused: number;
  over: number;
  variance: number;
}

/** What a key that a slice does not have may have had there: the smallest counts of the full buckets, and their variance. */
interface Missing {
  readonly byKey: readonly Least[];
  /** Null if the keys of all rules are collected, because only the other table is looked at then. */
  readonly byRule: readonly Least[] | null;
  /** The keys that the slice has. */
  readonly present: ReadonlySet<Sum>;
}

interface Least {
  readonly count: number;
  readonly variance: number;
}

/**
 * The sum of several slices. If a slice does not have a key, the key may have had as many hits there as the smallest count
 * of its buckets, which adds to its error (Agarwal et al.: "Mergeable summaries", PODS 2012).
 */
export class CollectedKeys {
  readonly #rule: RuleIdentity | null;
  readonly #sums = new Map<string, Sum>();
  readonly #missing: Missing[] = [];
  /** The largest sampling interval minus 1. */
  #sampled = 0;

  /** @param rule identity of the only rule whose keys are collected; null for all rules */
  constructor(rule: RuleIdentity | null) {
    this.#rule = rule;
  }

  /** Adds a slice, which must not change meanwhile. */
  add({ byKey, byRule, sampled }: Slice): void {
    this.#sampled = Math.max(this.#sampled, sampled[0]);
    const present = new Map<Sum, Entry>();
    this.#collect(byKey, 0, byKey.buckets, present);
    if (this.#rule !== null) {
      const bucket = bucketOfRule(this.#rule.ruleA);
      this.#collect(byRule, bucket, bucket + 1, present);
    }
    for (const [sum, { table, entry }] of present) {
      sum.hits += table.hits[entry];
      sum.refused += table.refused[entry];
      sum.over += table.over[entry];
      sum.variance += table.variance[entry];
    }
    const keys = new Set(present.keys());
    const leastOfRules = this.#rule === null ? null : leastOf(byRule);
    this.#missing.push({ byKey: leastOf(byKey), byRule: leastOfRules, present: keys });
  }

  /** The keys with the most hits. */
  top(count: number): CountedKey[] {
    const sums = [...this.#sums.values()].sort((a, b) => b.hits - a.hits).slice(0, count);
    return sums.map(sum => this.#counted(sum));
  }

  /** Finds the entries of a table. If a key is in both tables of the slice, the one with the smaller error counts. */
  #collect(table: KeyTable, firstBucket: number, endBucket: number, present: Map<Sum, Entry>): void {
    const rule = this.#rule;
    for (let entry = firstBucket * WAYS; entry < endBucket * WAYS; entry++) {
      if (table.hits[entry] === 0) continue;
      if (rule !== null && (table.ruleA[entry] !== rule.ruleA || table.ruleB[entry] !== rule.ruleB)) continue;
      const sum = this.#sumOf(table, entry);
      const other = present.get(sum);
      if (other === undefined || table.over[entry] < other.table.over[other.entry]) {
        present.set(sum, { table, entry });
      }
    }
  }

  #sumOf(table: KeyTable, entry: number): Sum {
    const [tag, check, ruleA, ruleB] = [table.tag, table.check, table.ruleA, table.ruleB].map(
      each => each[entry],
    );
    const name = `${tag} ${check} ${ruleA} ${ruleB}`;
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      const text = table.text.slice(entry * TEXT_BYTES, (entry + 1) * TEXT_BYTES);
      const limit = table.limit[entry];
      sum = { tag, check, ruleA, ruleB, limit, text, hits: 0, refused: 0, over: 0, variance: 0 };
      this.#sums.set(name, sum);
    }
    return sum;
  }

  #counted(sum: Sum): CountedKey {
    let { over, variance } = sum;
    for (const { byKey, byRule, present } of this.#missing) {
      if (present.has(sum)) continue;
      const inKeys = byKey[bucketOfKey(sum)];
      const inRules = byRule?.[bucketOfRule(sum.ruleA)] ?? inKeys;
      const least = inKeys.count < inRules.count ? inKeys : inRules;
      over += least.count;
      variance += least.variance;
    }
    const error = Math.ceil(over + samplingError(variance, this.#sampled));
    const { ruleA, ruleB, limit, text, hits, refused } = sum;
    return { ruleA, ruleB, limit, text: readKeyText(text, 0), hits, refused, error };
  }
}

/**
 * How far an estimate may be from the truth. The variance is estimated from the samples, so that of a key with few samples
 * may be too small. The limit of a score interval (Wilson: "Probable inference", 1927) accounts for this.
 */
function samplingError(variance: number, sampled: number): number {
  const few = (DEVIATIONS * DEVIATIONS * sampled) / 2;
  return few + Math.sqrt(DEVIATIONS * DEVIATIONS * variance + few * few);
}

interface Entry {
  readonly table: KeyTable;
  readonly entry: number;
}

/** By bucket of a table: the smallest count. */
function leastOf(table: KeyTable): Least[] {
  return Array.from({ length: table.buckets }, (_, bucket) => {
    const entry = table.leastOf(bucket);
    const count = table.hits[entry] + table.over[entry];
    return { count, variance: count === 0 ? 0 : table.variance[entry] };
  });
}
