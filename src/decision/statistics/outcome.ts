import { RULE_STAT } from '../../stats/names.ts';
import { addTotal } from './shared-totals.ts';

/** A counted descriptor: its limit, its hits, and the count before and after. */
export interface Outcome {
  requestsPerUnit: number;
  /** See {@link nearThreshold}. */
  nearThreshold: number;
  hits: number;
  before: number;
  after: number;
  /** The hits were held back because another descriptor is over its limit: `before` equals `after`. */
  held: boolean;
}

/**
 * The count above which hits are near the limit. Limit, ratio and product are rounded to single precision, then down, as
 * in envoyproxy/ratelimit: 0.7 of 90 is 63, where double precision would result in 62. Rounding must not exceed the limit
 * (possible with a ratio of 1 and a limit of more than 24 bits), or the number of near hits would be negative.
 */
export function nearThreshold(ratio: number, requestsPerUnit: number): number {
  const product = Math.fround(Math.fround(ratio) * Math.fround(requestsPerUnit));
  return Math.min(Math.floor(product), requestsPerUnit);
}

export function isOverLimit(outcome: Outcome): boolean {
  return outcome.after > outcome.requestsPerUnit;
}

/** The number of hits beyond the limit, for an outcome that is over the limit. */
export function hitsOverLimit(outcome: Outcome): number {
  const { requestsPerUnit, hits, before, after } = outcome;
  return before >= requestsPerUnit ? hits : after - requestsPerUnit;
}

/**
 * Counts an outcome in the row at `base`, except `total_hits`, which is counted before the store is asked.
 *
 * The hits of one request can cross both thresholds: hits between the near threshold and the limit count as near, hits
 * beyond the limit as over. All hits or none count as `within_limit`.
 */
export function countOutcome(row: Int32Array, base: number, outcome: Outcome): void {
  const { requestsPerUnit, nearThreshold: near, hits, before, after, held } = outcome;
  if (after > requestsPerUnit) {
    addTotal(row, base + RULE_STAT.overLimit, hitsOverLimit(outcome));
    if (before < requestsPerUnit) {
      addTotal(row, base + RULE_STAT.nearLimit, requestsPerUnit - Math.max(near, before));
    }
    return;
  }
  addTotal(row, base + RULE_STAT.withinLimit, hits);
  if (after > near && !held) addTotal(row, base + RULE_STAT.nearLimit, before >= near ? hits : after - near);
}
