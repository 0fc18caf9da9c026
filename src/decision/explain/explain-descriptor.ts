import type { JsonObject } from '../../base/json.ts';
import { secondsUntilReset, windowLengthS, windowStartS } from '../../counters/window.ts';
import { UNIT_NAMES } from '../../messages/current-limit.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from '../../rules/layout.ts';
import { RULE_PREFIX, sanitiseStatName } from '../../stats/names.ts';
import type { DecisionBatch } from '../batch.ts';
import { KIND } from '../decision-table.ts';
import { hitsOf } from '../plan.ts';
import { type Match, MatchExplainer } from './explain-match.ts';
import type {
  DescriptorExplanation,
  ExplainedCount,
  ExplainedLimit,
  ExplainedWindow,
} from './explanation.ts';

/** A batch of one request that was decided. */
interface DecidedRequest {
  readonly batch: DecisionBatch;
  readonly rules: CompiledRules;
  /** By slot: the count before. */
  readonly present: Float64Array;
  readonly answer: JsonObject;
}

/** What became of each descriptor, read from the batch that it was decided in, in the order of the request. */
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
