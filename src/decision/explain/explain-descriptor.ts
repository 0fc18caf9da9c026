import type { JsonObject } from '../../base/json.ts';
import { secondsUntilReset, windowLengthS, windowStartS } from '../../counters/window.ts';
import { UNIT_NAMES } from '../../messages/current-limit.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from '../../rules/layout.ts';
import { RULE_PREFIX, sanitiseStatName } from '../../stats/names.ts';
import { type DecisionBatch, KIND } from '../batch.ts';
import { hitsOf } from '../plan.ts';
import { type Match, MatchExplainer, type MatchedLevel } from './explain-match.ts';

/** A decided batch with one request. */
interface DecidedRequest {
  readonly batch: DecisionBatch;
  readonly rules: CompiledRules;
  /** By slot: the count before the request. */
  readonly present: Float64Array;
  readonly answer: JsonObject;
}

/** Explains the descriptors of a decided request, in order. */
export function explainDescriptors(decided: DecidedRequest): DescriptorExplanation[] {
  const { batch, rules, answer } = decided;
  const first = batch.requests.firstDescriptor[0];
  const statuses = answer['statuses'] as readonly JsonObject[];
  const explainer = new MatchExplainer(rules, batch.requests);
  const matches = statuses.map((_status, i) => explainer.match(first + i));
  const replacements = explainer.replacements(matches);
  return statuses.map((status, i): DescriptorExplanation => {
    const row = first + i;
    const match = matches[i];
    const { levels } = match;
    const isRefund = batch.requests.isRefund[row] === 1;
    const common = { entries: explainer.entries(row), hits: hitsOf(batch, 0, row), isRefund, levels, status };
    const kind = batch.decisions.kind[row];
    if (kind === KIND.none) {
      if (match.limit < 0) return { ...common, outcome: 'no limit', why: explainer.whyNoLimit(row, match) };
      const why = explainer.whyReplaced(match, replacements);
      return { ...common, outcome: 'replaced', why, limit: limitOfRule(rules, match) };
    }
    const limit = match.limit < 0 ? ownLimit(batch, row, match) : limitOfRule(rules, match);
    const why = explainer.whyLimit(row, match);
    if (kind === KIND.unlimited) return { ...common, outcome: 'unlimited', why, limit };
    const counting = { key: keyOf(batch, row), window: windowOf(batch, row), count: countOf(decided, row) };
    return { ...common, outcome: 'limited', why, limit, ...counting };
  });
}

function limitOfRule(rules: CompiledRules, { limit, metricKey }: Match): ExplainedLimit {
  const flags = rules.limit(limit, LIMIT.flags);
  const json = rules.text(rules.limit(limit, LIMIT.json), rules.limit(limit, LIMIT.jsonLength));
  const { currentLimit } = JSON.parse(`{${json}}`) as { readonly currentLimit?: { readonly name?: string } };
  return {
    rule: rules.path(limit),
    name: currentLimit?.name ?? '',
    requestsPerUnit: rules.requestsPerUnit(limit),
    unit: UNIT_NAMES[rules.limit(limit, LIMIT.unit)],
    shadowMode: (flags & LIMIT_FLAG.shadow) !== 0,
    quotaMode: (flags & LIMIT_FLAG.quota) !== 0,
    statistics: RULE_PREFIX + sanitiseStatName(metricKey),
  };
}

function ownLimit({ decisions }: DecisionBatch, row: number, { metricKey }: Match): ExplainedLimit {
  return {
    rule: null,
    name: '',
    requestsPerUnit: decisions.requestsPerUnit[row],
    unit: UNIT_NAMES[decisions.unit[row]],
    shadowMode: false,
    quotaMode: false,
    statistics: RULE_PREFIX + sanitiseStatName(metricKey),
  };
}

function keyOf({ keys, decisions }: DecisionBatch, row: number): string {
  return Buffer.from(keys.bytes.subarray(decisions.keyStart[row], decisions.keyEnd[row])).toString();
}

function windowOf({ decisions, nowS }: DecisionBatch, row: number): ExplainedWindow {
  const unit = decisions.unit[row];
  const startS = windowStartS(unit, nowS);
  const time = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  return {
    start: time(startS),
    end: time(startS + windowLengthS(unit)),
    resetSeconds: secondsUntilReset(unit, nowS),
  };
}

function countOf({ batch, present }: DecidedRequest, row: number): ExplainedCount | null {
  const { counters } = batch;
  const op = batch.decisions.op[row];
  const now = present[counters.opSlots[op]];
  if (Number.isNaN(now)) return null;
  return { now, after: counters.opAfters[op], heldBack: counters.opHeld[op] === 1 };
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
 */
type Outcome = 'limited' | 'unlimited' | 'replaced' | 'no limit';

export interface DescriptorExplanation {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly hits: number;
  /** The hits are given back, so the descriptor is OK in any case. */
  readonly isRefund: boolean;
  readonly outcome: Outcome;
  /** The reason for the outcome, as a sentence. */
  readonly why: string;
  /** The match of each entry, up to the level where matching ended. */
  readonly levels: readonly MatchedLevel[];
  /** The limit of the rule or of the descriptor itself; absent without a limit. */
  readonly limit?: ExplainedLimit;
  /** `key`, `window` and `count` are present only if the outcome is `limited`. */
  readonly key?: string;
  readonly window?: ExplainedWindow;
  /** Null if the store could not read the count. */
  readonly count?: ExplainedCount | null;
  /** The `DescriptorStatus` in proto3 JSON. */
  readonly status: JsonObject;
}

interface ExplainedLimit {
  /** Domain and entries as configured; null for a limit override. */
  readonly rule: string | null;
  /** Empty for none. */
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** Prefix of the names of its statistics. */
  readonly statistics: string;
}

interface ExplainedWindow {
  readonly start: string;
  readonly end: string;
  readonly resetSeconds: number;
}

export interface ExplainedCount {
  /** Number of hits in the window so far. */
  readonly now: number;
  /** Number of hits after this request. */
  readonly after: number;
  /** The hits would not be added, because another descriptor of the request is over its limit. */
  readonly heldBack: boolean;
}
