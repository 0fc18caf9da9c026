import { SECOND_MS } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { UNIT_NAMES } from '../messages/current-limit.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { CODE, type DecisionBatch, type DecisionTable, isLimited, OVERRIDDEN } from './batch.ts';
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
 * each.
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
  /** Whether responses may have additions with these rules. */
  areEnabled(rules: CompiledRules): boolean;
  /** The additions of a response; null if it has none. */
  of(decided: DecidedRequest): Additions | null;
}

/** The values of the three headers, in the order of {@link HeaderNames}. The reset is in whole seconds, rounded up. */
export function headerPairs(response: Response): [string, string][] {
  const { headerNames, reported, batch } = response;
  if (headerNames === null || reported < 0) return [];
  const { decisions } = batch;
  return [
    [headerNames.limit, String(decisions.requestsPerUnit[reported])],
    [headerNames.remaining, String(decisions.remaining[reported])],
    [headerNames.reset, String(Math.ceil(decisions.resetMs[reported] / SECOND_MS))],
  ];
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
 * their limits have 0 remaining.
 */
export function reportedDescriptor(batch: DecisionBatch, request: number, modes: GlobalModes): number {
  const { requests, decisions } = batch;
  const first = requests.firstDescriptor[request];
  const end = first + requests.descriptorCount[request];
  let chosen = -1;
  let least = 4_294_967_295;
  for (let row = first; row < end; row++) {
    if (!isLimited(decisions.kind[row])) continue;
    const regularOver = decisions.code[row] === CODE.overLimit && !isQuota(batch, row, modes);
    if (regularOver || decisions.remaining[row] < least) {
      chosen = row;
      least = regularOver ? 0 : decisions.remaining[row];
    }
  }
  return chosen;
}
