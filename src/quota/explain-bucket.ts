import { type DecisionBatch, KIND } from '../decision/batch.ts';
import { discardedNames } from '../decision/statistics/named-rows.ts';
import { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import type { DescriptorEntry } from '../messages/client-codec.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { bucketName, sortedByKey } from './bucket-registry.ts';
import { matchedEntries, requestsFor } from './bucket-requests.ts';
import { Payments } from './payments.ts';
import { lookAt } from './planned-limits.ts';
import type { LimitFacts } from './prepaid-limit.ts';
import { QuotaBucket, type Verdict } from './quota-bucket.ts';

/**
 * Why a bucket gets its verdict:
 *
 * - `divided`: its limits are divided among the proxies
 * - `shadow`: its limits are only counted
 * - `no_room`: a limit allows nothing
 * - `unserved`: the rule has leases or a penalty
 * - `banned`, `passed`: a steering record says so
 * - `no_limit`: no limit applies to these values
 * - `ambiguous`: rules have these keys in several orders
 * - `beyond`: no rule has these keys, as far as the orders of the domain are known
 * - `no_keys`: no rule has these keys
 */
type BucketReason =
  | 'divided'
  | 'shadow'
  | 'no_room'
  | 'unserved'
  | 'banned'
  | 'passed'
  | 'no_limit'
  | 'ambiguous'
  | 'beyond'
  | 'no_keys';

/** What a bucket would get. */
export interface BucketExplanation {
  /** In the order in which the rules have the keys; sorted by key if none has them. */
  readonly entries: readonly DescriptorEntry[];
  readonly verdict: Verdict;
  readonly reason: BucketReason;
  /** The limits that count the bucket, in the order of the rule. */
  readonly limits: readonly LimitFacts[];
  /** Requests per second of all proxies together; null if nothing is divided. */
  readonly rate: number | null;
  /** How long each grant would last, in seconds; 0 without limits. */
  readonly grantS: number;
}

interface ExplainerParts extends Omit<ConstructorParameters<typeof Payments>[0], 'named' | 'marks'> {
  /** Returns the active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
  /** Whether all limits are in shadow mode. */
  readonly isShadow: boolean;
}

/** Explains what proxies would get of a bucket, whether or not any reports it. Nothing is counted. */
export class BucketExplainer {
  readonly #parts: ExplainerParts;
  readonly #payments: Payments;
  /** The rules, kept for the next bucket. */
  #generation: RuleGeneration | null = null;

  constructor(parts: ExplainerParts) {
    this.#parts = parts;
    this.#payments = new Payments({ ...parts, marks: null, named: discardedNames() });
  }

  /** Returns null before rules were loaded. @param nowMs a whole number */
  explain(domain: string, entries: readonly DescriptorEntry[], nowMs: number): BucketExplanation | null {
    const rules = this.#parts.rules();
    if (rules === null) return null;
    const generation = this.#generationOf(rules);
    const bucket = new QuotaBucket(bucketName(domain, entries), domain, sortedByKey(entries));
    const { asking } = requestsFor(generation, bucket);
    let reason: BucketReason = 'no_limit';
    const batch = this.#payments.plan([asking], generation, nowMs, nowMs, planned => {
      reason = this.#look(bucket, planned, generation, nowMs);
    });
    this.#payments.release(batch);
    const { verdict, limits, rate, ttlS, descriptor } = bucket;
    return {
      entries: descriptor,
      verdict,
      reason,
      limits: limits.map(({ facts }) => facts),
      rate: verdict === 'divided' ? rate : null,
      grantS: limits.length === 0 ? 0 : ttlS,
    };
  }

  #generationOf(rules: CompiledRules): RuleGeneration {
    if (this.#generation?.rules !== rules) this.#generation = new RuleGeneration(rules);
    return this.#generation;
  }

  /** Takes over what planning says of the bucket, and sees to it that nothing is counted. */
  #look(bucket: QuotaBucket, batch: DecisionBatch, generation: RuleGeneration, nowMs: number): BucketReason {
    const { kind } = batch.decisions;
    const row = 0;
    const steered = kind[row] === KIND.banned ? 'banned' : kind[row] === KIND.passed ? 'passed' : null;
    const { isShadow } = this.#parts;
    const { rows } = lookAt(bucket, batch, row, { generation, isShadow, nowMs });
    for (const each of rows) kind[each] = KIND.none;
    if (steered !== null) return steered;
    if (bucket.isUnserved) return 'unserved';
    if (bucket.verdict === 'divided') return 'divided';
    if (bucket.verdict === 'deny_all') return 'no_room';
    return rows.length > 0 ? 'shadow' : NO_LIMIT[matchedEntries(generation.rules, bucket).keys];
  }
}

/** Why no limit applies to a bucket, by how rules have its keys. */
const NO_LIMIT = { ordered: 'no_limit', ambiguous: 'ambiguous', beyond: 'beyond', none: 'no_keys' } as const;
