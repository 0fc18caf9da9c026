import { LIMIT_FLAG } from '../rules/layout.ts';
import { CODE, type DecisionBatch, isLimited, KIND } from './batch.ts';

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
export function isQuota(batch: DecisionBatch, row: number, modes: GlobalModes): boolean {
  const kind = batch.decisions.kind[row];
  if (kind === KIND.unlimited || kind > KIND.several) return false;
  return modes.quota || (isLimited(kind) && (batch.decisions.flags[row] & LIMIT_FLAG.quota) !== 0);
}
