import { SECOND_MS } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { MOST_IN_RESPONSE, UNIT_NAMES } from '../messages/current-limit.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import {
  CODE,
  type DecisionBatch,
  type DecisionTable,
  endOfLimits,
  firstLimit,
  isLimited,
  KIND,
  OVERRIDDEN,
} from './batch.ts';
import type { ResponseFormat } from './decider.ts';
import { nameOfLimit } from './metric-key.ts';
import { type GlobalModes, isQuota } from './overall-code.ts';

/** Names of the three response headers (spec 4.5). */
export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** The input of the encoders of `RateLimitResponse`. */
export interface Response {
  batch: DecisionBatch;
  request: number;
  rules: CompiledRules;
  overallCode: number;
  /** Row of the descriptor that the headers report; -1 for none. */
  reported: number;
  /** Null if headers are disabled. */
  headerNames: HeaderNames | null;
  /** Whether there are headers for each unit. */
  hasUnitHeaders: boolean;
  /** `dynamic_metadata`; null if disabled. */
  metadata: JsonObject | null;
  /** Further headers, a body and metadata; null if there are none. */
  additions: EncodedAdditions | null;
}

/** Bytes of a buffer: its first `length` bytes. */
interface Bytes {
  readonly bytes: Uint8Array;
  readonly length: number;
}

/**
 * Parts of a `RateLimitResponse` in the encoding of its request. `headers` are elements of `response_headers_to_add`: in
 * JSON, with commas between them. `rest` are the fields `raw_body` and `dynamic_metadata`: in JSON, with a comma before
 * each. In an HTTP response, `headers` are as `messages/http-response.ts` has them, and `rest` is the body.
 */
export interface EncodedAdditions {
  readonly headers: Bytes;
  readonly rest: Bytes;
}

/** What an answer contains in addition to its statuses. Valid until the next answer. */
export interface Additions {
  readonly encoded: EncodedAdditions;
  /** The value of `Retry-After`; 0 if the answer has none. */
  readonly retryAfterS: number;
  /** `matched_rule`, if the caller writes dynamic metadata; else null. */
  readonly matchedRule: JsonObject | null;
}

/** A decided request. */
export interface DecidedRequest {
  readonly batch: DecisionBatch;
  readonly request: number;
  readonly rules: CompiledRules;
  readonly isRefused: boolean;
}

/** Adds to responses what the settings and the domains enable. */
export interface ResponseAdditions {
  /** Whether responses in a format may have additions with these rules. */
  areEnabled(rules: CompiledRules, format: ResponseFormat): boolean;
  /** The additions of a response; null if it has none. */
  of(decided: DecidedRequest): Additions | null;
}

/** Whether a response may have headers without its additions. */
export function mayHaveHeaders({ headerNames, reported, hasUnitHeaders }: Response): boolean {
  return hasUnitHeaders || (headerNames !== null && reported >= 0);
}

/**
 * The names and values of the headers: those for each unit, and then the three headers in the order of {@link HeaderNames}.
 * The reset is in whole seconds, rounded up.
 */
export function headerPairs(response: Response): [string, string][] {
  const { headerNames, reported, batch, request, hasUnitHeaders } = response;
  const ofUnits = hasUnitHeaders ? unitHeaderPairs(batch, request) : [];
  if (headerNames === null || reported < 0) return ofUnits;
  const { decisions } = batch;
  return [
    ...ofUnits,
    [headerNames.limit, String(decisions.requestsPerUnit[reported])],
    [headerNames.remaining, String(decisions.remaining[reported])],
    [headerNames.reset, String(Math.ceil(decisions.resetMs[reported] / SECOND_MS))],
  ];
}

/** By unit: the end of the names of its headers, such as `Seconds`. */
const UNIT_SUFFIXES = UNIT_NAMES.map(name => `${name[0]}${name.slice(1).toLowerCase()}s`);

/**
 * The names and values of the headers for each unit: the limit with the fewest remaining requests among those of its unit,
 * and what remains. As in envoyproxy/ratelimit, the units are in the order of the request, the first of equal limits counts,
 * and the names do not depend on settings. Limits that are not plain have the unit that their status shows, and those on
 * concurrency have none.
 */
function unitHeaderPairs({ requests, decisions }: DecisionBatch, request: number): [string, string][] {
  const { kind, unit, remaining, requestsPerUnit } = decisions;
  const first = requests.firstDescriptor[request];
  const end = first + requests.descriptorCount[request];
  const fewest: number[] = [];
  for (let row = first; row < end; row++) {
    const endOfRow = endOfLimits(decisions, row);
    for (let limit = firstLimit(decisions, row); limit < endOfRow; limit++) {
      if (kind[limit] !== KIND.limited || unit[limit] === 0) continue;
      const same = fewest.findIndex(other => unit[other] === unit[limit]);
      if (same < 0) fewest.push(limit);
      else if (remaining[limit] < remaining[fewest[same]]) fewest[same] = limit;
    }
  }
  return fewest.flatMap((limit): [string, string][] => [
    [`RateLimit-Limit-${UNIT_SUFFIXES[unit[limit]]}`, String(requestsPerUnit[limit])],
    [`RateLimit-Remaining-${UNIT_SUFFIXES[unit[limit]]}`, String(remaining[limit])],
  ]);
}

/** Whether the `current_limit` of a row with a limit is the one that was encoded when the rules were compiled. */
export function hasLimitOfRule({ limit, flags }: DecisionTable, row: number): boolean {
  return limit[row] >= 0 && (flags[row] & OVERRIDDEN) === 0;
}

/** `current_limit` of a descriptor with a limit override, or with a limit that a steering record has replaced. */
export function overrideLimit(
  { batch, rules }: Response,
  row: number,
): { requestsPerUnit: number; unit: number; unitName: string; name: string } {
  const { limit, unit: units, requestsPerUnit } = batch.decisions;
  const unit = units[row];
  const name = limit[row] < 0 ? '' : nameOfLimit(rules, limit[row]);
  return { requestsPerUnit: requestsPerUnit[row], unit, unitName: UNIT_NAMES[unit], name };
}

/**
 * The descriptor that response headers report (spec 4.5), or -1 if no limit applies: the last regular one that is over
 * its limit, otherwise the first one with the least remaining. Quota descriptors and rules in shadow mode that are over
 * their limits have 0 remaining. As in envoyproxy/ratelimit, the greatest 32-bit limit is not reported while all of it
 * remains.
 */
export function reportedDescriptor(batch: DecisionBatch, request: number, modes: GlobalModes): number {
  const { requests, decisions } = batch;
  const first = requests.firstDescriptor[request];
  const end = first + requests.descriptorCount[request];
  let chosen = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let row = first; row < end; row++) {
    if (!isLimited(decisions.kind[row])) continue;
    const regularOver = decisions.code[row] === CODE.overLimit && !isQuota(batch, row, modes);
    const remaining = decisions.remaining[row];
    const isUnused = remaining === MOST_IN_RESPONSE && decisions.requestsPerUnit[row] === MOST_IN_RESPONSE;
    if (regularOver || (remaining < least && !isUnused)) {
      chosen = row;
      least = regularOver ? 0 : remaining;
    }
  }
  return chosen;
}
