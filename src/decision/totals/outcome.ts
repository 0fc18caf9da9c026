import { RULE_STAT } from '../../stats/names.ts';
import { addTotal } from './shared-totals.ts';

/** One counted descriptor: its limit, its hits, and the count before and after them. */
export interface Outcome {
  requestsPerUnit: number;
  /** See {@link nearThreshold}. */
  nearThreshold: number;
  hits: number;
  before: number;
  after: number;
  /** Another descriptor of the request was over its limit, so these hits were not added (`before` equals `after`). */
  held: boolean;
}

/**
 * The count above which hits are near the limit. Limit, ratio and product are rounded to single precision before the
 * floor, as the reference implementation does: 0.7 of 90 is 63, where double precision would give 62. Rounding must
 * not carry it beyond the limit (a ratio of 1 and a limit of more than 24 bits), or near hits would be negative.
 */
export function nearThreshold(ratio: number, requestsPerUnit: number): number {
  const product = Math.fround(Math.fround(ratio) * Math.fround(requestsPerUnit));
  return Math.min(Math.floor(product), requestsPerUnit);
}

export function isOverLimit(outcome: Outcome): boolean {
  return outcome.after > outcome.requestsPerUnit;
}

/** The part of the hits that went over the limit, for an outcome that is over. */
export function hitsOverLimit(outcome: Outcome): number {
  const { requestsPerUnit, hits, before, after } = outcome;
  return before >= requestsPerUnit ? hits : after - requestsPerUnit;
}

/**
 * Counts an outcome in the row at `base`. `total_hits` is counted before the store is asked and is not touched here.
 *
 * The hits of one request may cross both thresholds: those up to the near threshold count as neither, those between
 * the thresholds as near, those beyond the limit as over. `within_limit` takes all hits or none.
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
