import { SECOND_MS } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { UNIT_NAMES } from '../messages/current-limit.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { LIMIT } from '../rules/layout.ts';
import { CODE, type DecisionBatch, type DecisionTable, isLimited, KIND, PENALIZED } from './batch.ts';
import { nameOfLimit } from './metric-key.ts';

/**
 * `dynamic_metadata` of a response: the request, and the merged `metadata` of the rules of all descriptors that passed.
 * Used only with `RESPONSE_DYNAMIC_METADATA`.
 */
export function dynamicMetadata(batch: DecisionBatch, request: number, rules: CompiledRules): JsonObject {
  const { requests } = batch;
  const first = requests.firstDescriptor[request];
  const end = first + requests.descriptorCount[request];
  const descriptors: JsonObject[] = [];
  for (let row = first; row < end; row++) descriptors.push(describeDescriptor(batch, row, rules));
  const result: Record<string, JsonValue> = {
    domain: requests.text(requests.domainStart[request], requests.domainEnd[request]),
    descriptors,
  };
  if (requests.requestHits[request] !== 0) result['hitsAddend'] = requests.requestHits[request];
  const merged = mergedMetadata(batch, rules, first, end);
  if (merged !== null) result['metadata'] = merged;
  return result;
}

function describeDescriptor(batch: DecisionBatch, row: number, rules: CompiledRules): JsonObject {
  const { requests } = batch;
  const entries: string[] = [];
  const first = requests.firstEntry[row];
  for (let entry = first; entry < first + requests.entryCount[row]; entry++) {
    const key = requests.text(requests.keyStart[entry], requests.keyEnd[entry]);
    entries.push(`${key}=${requests.text(requests.valueStart[entry], requests.valueEnd[entry])}`);
  }
  const described: Record<string, JsonValue> = { entries };
  if (requests.hasOverride[row] === 1) described['limit'] = overrideText(batch, row);
  if (requests.descriptorHits[row] >= 0) described['hitsAddend'] = requests.descriptorHits[row];
  if (requests.isRefund[row] === 1) described['isNegativeHits'] = true;
  const limits = describeLimits(batch.decisions, row, rules);
  if (limits.length > 0) described['limits'] = limits;
  return described;
}

/** The limits of a descriptor that the status cannot describe: several, or one that is not a plain limit. */
function describeLimits(decisions: DecisionTable, row: number, rules: CompiledRules): JsonObject[] {
  if (decisions.kind[row] === KIND.several) {
    const first = decisions.firstPart[row];
    return Array.from({ length: decisions.partCount[row] }, (_, i) => first + i)
      .filter(part => decisions.kind[part] === KIND.limited)
      .map(part => describeLimit(decisions, part, rules));
  }
  const isPlain = decisions.kind[row] !== KIND.limited || (decisions.terms[row]?.isWrittenPlain ?? true);
  return isPlain ? [] : [describeLimit(decisions, row, rules)];
}

function describeLimit(decisions: DecisionTable, row: number, rules: CompiledRules): JsonObject {
  const { window, algorithm, burst } = decisions.terms[row]!.window.terms;
  return {
    name: nameOfLimit(rules, decisions.limit[row]),
    requestsPerUnit: decisions.requestsPerUnit[row],
    window,
    algorithm,
    ...(algorithm === 'token_bucket' ? { burst } : {}),
    code: decisions.code[row] === CODE.ok ? 'OK' : 'OVER_LIMIT',
    ...((decisions.flags[row] & PENALIZED) !== 0 ? { penalized: true } : {}),
    remaining: decisions.remaining[row],
    resetSeconds: decisions.resetMs[row] / SECOND_MS,
  };
}

/** The override in protobuf text format, without default values: `requests_per_unit:10 unit:DAY`. */
function overrideText(batch: DecisionBatch, row: number): string {
  const { requests } = batch;
  const requestsPerUnit = requests.overrideRequestsPerUnit[row];
  const unit = requests.overrideUnit[row];
  const fields: string[] = [];
  if (requestsPerUnit !== 0) fields.push(`requests_per_unit:${requestsPerUnit}`);
  // The enum of overrides has no name for 7 (WEEK).
  if (unit !== 0) fields.push(`unit:${unit < 7 ? UNIT_NAMES[unit] : unit}`);
  return fields.join(' ');
}

function mergedMetadata(
  batch: DecisionBatch,
  rules: CompiledRules,
  first: number,
  end: number,
): JsonObject | null {
  const { decisions } = batch;
  let merged: JsonObject | null = null;
  for (let row = first; row < end; row++) {
    const limit = decisions.limit[row];
    if (!isLimited(decisions.kind[row]) || limit < 0 || decisions.code[row] === CODE.overLimit) continue;
    const length = rules.limit(limit, LIMIT.metadataLength);
    if (length === 0) continue;
    const own = JSON.parse(rules.text(rules.limit(limit, LIMIT.metadata), length)) as JsonObject;
    merged = merged === null ? own : merge(merged, own);
  }
  return merged;
}

/** Merges two maps: the earlier value of a key wins, nested maps are merged recursively. Does not modify its arguments. */
function merge(earlier: JsonObject, later: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...later, ...earlier };
  for (const [key, value] of Object.entries(earlier)) {
    const other = Object.hasOwn(later, key) ? later[key] : undefined;
    if (isMap(value) && isMap(other)) merged[key] = merge(value, other);
  }
  return merged;
}

function isMap(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
