import type { JsonObject } from '../../base/json.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { SteeringTable } from '../../steering/steering-table.ts';
import { hitsOf, KIND } from '../batch.ts';
import {
  countingOf,
  type DecidedBatch,
  type ExplainedCounting,
  type ExplainedLimit,
  limitOfRule,
  ownLimit,
} from './explain-limit.ts';
import { MatchExplainer, type MatchedLevel } from './explain-match.ts';
import { type ExplainedPart, explainSeveral } from './explain-several.ts';
import { type ExplainedRecord, SteeringExplainer } from './explain-steering.ts';

/** A decided batch with one request. */
interface DecidedRequest extends DecidedBatch {
  readonly rules: CompiledRules;
  readonly answer: JsonObject;
  /** The steering records; null if there are none. */
  readonly steering: SteeringTable | null;
}

/** Explains the descriptors of a decided request, in order. */
export function explainDescriptors(decided: DecidedRequest): DescriptorExplanation[] {
  const { batch, rules, answer } = decided;
  const first = batch.requests.firstDescriptor[0];
  const statuses = answer['statuses'] as readonly JsonObject[];
  const explainer = new MatchExplainer(rules, batch.requests);
  const matches = statuses.map((_status, i) => explainer.match(first + i));
  const replacements = explainer.replacements(matches);
  const steering = new SteeringExplainer(batch, decided.steering, rules);
  return statuses.map((status, i): DescriptorExplanation => {
    const row = first + i;
    const match = matches[i];
    const { levels } = match;
    const isRefund = batch.requests.isRefund[row] === 1;
    const record = steering.record(row);
    const common = {
      entries: explainer.entries(row),
      hits: hitsOf(batch, 0, row),
      isRefund,
      levels,
      ...(record !== null && { steering: record }),
      status,
    };
    const kind = batch.decisions.kind[row];
    if (kind === KIND.banned || kind === KIND.passed) {
      const [outcome, verb] =
        kind === KIND.banned ? (['banned', 'refuses'] as const) : (['passed', 'allows'] as const);
      const why = `the steering record \`${record?.id}\` ${verb} the descriptor`;
      return { ...common, outcome, why, ...(match.limit >= 0 && { limit: limitOfRule(rules, match) }) };
    }
    if (kind === KIND.none) {
      const hasLimit = match.limit >= 0 || batch.requests.hasOverride[row] === 1;
      if (steering.anyBan && hasLimit && !isRefund)
        return { ...common, outcome: 'not counted', why: OTHER_BAN };
      if (match.limit < 0) return { ...common, outcome: 'no limit', why: explainer.whyNoLimit(row, match) };
      const why = explainer.whyReplaced(match, replacements);
      return { ...common, outcome: 'replaced', why, limit: limitOfRule(rules, match) };
    }
    const why = explainer.whyLimit(row, match);
    if (kind === KIND.several) {
      const { binding, limits } = explainSeveral({ ...decided, explainer, match, replacements }, row);
      return { ...common, outcome: 'limited', why, ...binding, limits };
    }
    const limit =
      match.limit < 0
        ? ownLimit(batch, row, match.metricKey)
        : { ...limitOfRule(rules, match), requestsPerUnit: batch.decisions.requestsPerUnit[row] };
    if (kind === KIND.unlimited) return { ...common, outcome: 'unlimited', why, limit };
    return { ...common, outcome: 'limited', why, limit, ...countingOf(decided, row) };
  });
}

/** How a request would be answered, and why. Nothing was counted. */
export interface Explanation {
  readonly domain: string;
  /** The time of the explanation, in RFC 3339, UTC. The windows are those of this second. */
  readonly time: string;
  readonly descriptors: readonly DescriptorExplanation[];
  /** The `RateLimitResponse` in proto3 JSON. Its statuses are repeated in `descriptors`. */
  readonly answer: JsonObject;
}

/**
 * - `limited`: a limit applies
 * - `unlimited`: an unlimited rule applies
 * - `replaced`: a rule matches, but is replaced by a rule that another descriptor of the request matched
 * - `no limit`: no rule with a limit applies
 * - `banned`, `passed`: a steering record refuses or allows the descriptor
 * - `not counted`: another descriptor of the request is banned
 */
type Outcome = 'limited' | 'unlimited' | 'replaced' | 'no limit' | 'banned' | 'passed' | 'not counted';

const OTHER_BAN = 'another descriptor of the request is banned, so nothing of the request is counted';

export interface DescriptorExplanation extends Partial<ExplainedCounting> {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly hits: number;
  /** The hits are given back, so the descriptor is OK in any case. */
  readonly isRefund: boolean;
  readonly outcome: Outcome;
  /** The reason for the outcome, as a sentence. */
  readonly why: string;
  /** The steering record for the descriptor; absent if there is none. */
  readonly steering?: ExplainedRecord;
  /** The match of each entry, up to the level where matching ended. */
  readonly levels: readonly MatchedLevel[];
  /**
   * The limit of the rule or of the descriptor itself; absent without a limit. If the rule has several limits, it is the one
   * that binds. `key`, `window`, `level` and `count` are those of this limit, and present only if the outcome is `limited`.
   */
  readonly limit?: ExplainedLimit;
  /** All limits of a rule with several limits, in the order of the rule. */
  readonly limits?: readonly ExplainedPart[];
  /** The `DescriptorStatus` in proto3 JSON. */
  readonly status: JsonObject;
}
