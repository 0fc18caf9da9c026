import type { ByteWriter } from '../base/bytes.ts';
import { SECOND_MS } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { writeCurrentLimitJson } from '../messages/current-limit.ts';
import { LIMIT } from '../rules/layout.ts';
import { CODE, isLimited, KIND } from './batch.ts';
import { hasLimitOfRule, headerPairs, overrideLimit, type Response } from './response.ts';

const COMMA = 44;

/** Appends a `RateLimitResponse` in proto3 JSON: fields in the order of declaration, without default values. */
export function writeJsonResponse(to: ByteWriter, response: Response): void {
  const { batch, request } = response;
  const first = batch.requests.firstDescriptor[request];
  const end = first + batch.requests.descriptorCount[request];
  to.ascii(
    response.overallCode === CODE.ok
      ? '{"overallCode":"OK","statuses":['
      : '{"overallCode":"OVER_LIMIT","statuses":[',
  );
  for (let row = first; row < end; row++) {
    if (row > first) to.byte(COMMA);
    writeStatus(to, response, row);
  }
  to.byte(93);
  writeHeaders(to, response);
  const rest = response.additions?.rest;
  if (rest !== undefined) to.copy(rest.bytes, 0, rest.length);
  if (response.metadata !== null) to.text(`,"dynamicMetadata":${sortedJson(response.metadata)}`);
  to.byte(125);
}

function writeStatus(to: ByteWriter, response: Response, row: number): void {
  const { batch, rules } = response;
  const { decisions } = batch;
  to.ascii(decisions.code[row] === CODE.ok ? '{"code":"OK"' : '{"code":"OVER_LIMIT"');
  const limited = isLimited(decisions.kind[row]);
  if (limited) {
    to.byte(COMMA);
    if (hasLimitOfRule(decisions, row)) {
      const limit = decisions.limit[row];
      const start = rules.limit(limit, LIMIT.json);
      to.copy(rules.pool, start, start + rules.limit(limit, LIMIT.jsonLength));
    } else writeCurrentLimitJson(to, overrideLimit(response, row));
  }
  if (decisions.remaining[row] > 0) {
    to.ascii(',"limitRemaining":');
    to.decimal(decisions.remaining[row]);
  }
  if (limited || decisions.kind[row] === KIND.banned) {
    to.ascii(',"durationUntilReset":"');
    writeSeconds(to, decisions.resetMs[row]);
    to.ascii('s"');
  }
  to.byte(125);
}

/** Appends seconds with three decimal digits, or with none if they are whole. */
function writeSeconds(to: ByteWriter, ms: number): void {
  const seconds = Math.floor(ms / SECOND_MS);
  const rest = ms - seconds * SECOND_MS;
  to.decimal(seconds);
  if (rest > 0) to.ascii(`.${String(rest).padStart(3, '0')}`);
}

function writeHeaders(to: ByteWriter, response: Response): void {
  const pairs = headerPairs(response);
  const further = response.additions?.headers;
  const hasFurther = further !== undefined && further.length > 0;
  if (pairs.length === 0 && !hasFurther) return;
  to.ascii(',"responseHeadersToAdd":[');
  to.text(pairs.map(([key, value]) => JSON.stringify({ key, value })).join(','));
  if (hasFurther) {
    if (pairs.length > 0) to.byte(COMMA);
    to.copy(further.bytes, 0, further.length);
  }
  to.byte(93);
}

/**
 * JSON text with the keys of every map sorted, as proto3 JSON writes a Struct. The order of object properties would not
 * do: integer-like keys come first.
 */
function sortedJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  const fields = Object.entries(value as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, each]) => `${JSON.stringify(key)}:${sortedJson(each)}`).join(',')}}`;
}
