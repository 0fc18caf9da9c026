import { SECOND_MS } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { UNIT_NAMES } from '../messages/current-limit.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { CODE, type DecisionBatch, type DecisionTable, isLimited, KIND, OVERRIDDEN } from './batch.ts';
import { nameOfLimit } from './metric-key.ts';

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

/** Modes that apply to all rules. */
export interface GlobalModes {
  /** Over-limit answers become OK as a whole; the statuses keep their codes (spec 3.3). */
  readonly shadow: boolean;
  /** Every descriptor that is not unlimited is a quota descriptor, even without a rule. */
  readonly quota: boolean;
}

/**
 * The overall code of a request before global shadow mode: over limit if a regular descriptor is over its limit, or if
 * there are quota descriptors and all of them are over their limits.
 */
export function overallCode(batch: DecisionBatch, request: number, modes: GlobalModes): number {
  const { requests, decisions } = batch;
  const first = requests.firstDescriptor[request];
  const end = first + requests.descriptorCount[request];
  let quotas = 0;
  let quotasOver = 0;
  for (let row = first; row < end; row++) {
    const over = decisions.code[row] === CODE.overLimit;
    if (isQuota(batch, row, modes)) {
      quotas++;
      if (over) quotasOver++;
    } else if (over) return CODE.overLimit;
  }
  return quotas > 0 && quotas === quotasOver ? CODE.overLimit : CODE.ok;
}

/**
 * Whether a descriptor is a quota descriptor, by the global mode or its rule. Unlimited ones never are. Neither are those
 * with a ban, which refuses their requests in any case, and those with a pass.
 */
function isQuota(batch: DecisionBatch, row: number, modes: GlobalModes): boolean {
  const kind = batch.decisions.kind[row];
  if (kind === KIND.unlimited || kind > KIND.several) return false;
  return modes.quota || (isLimited(kind) && (batch.decisions.flags[row] & LIMIT_FLAG.quota) !== 0);
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
