import { Fault } from '../base/fault.ts';
import { secondsUntilReset } from '../counters/window.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { RULE_STAT } from '../stats/names.ts';
import { CODE, type DecisionBatch, KIND } from './batch.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { addTotal } from './statistics/shared-totals.ts';

/** `limit_remaining` of an unlimited descriptor (spec 3.2). */
const UNLIMITED_REMAINING = 4_294_967_295;

/** How to decide a descriptor that the store could not count; see `STORE_FAILURE_MODE`. */
export type Uncounted = 'refuse' | 'allow' | 'deny';

/** The parts of an {@link Evaluator} beside the batch. */
interface EvaluatorParts {
  readonly nearLimitRatio: number;
  /** The local cache; null if disabled. */
  readonly overLimit: OverLimitCache | null;
  readonly uncounted: Uncounted;
}

/** Second half of a decision, after the store: computes the status of each descriptor and counts its statistics. */
export class Evaluator {
  readonly #parts: EvaluatorParts;
  readonly #outcome: Outcome = {
    requestsPerUnit: 0,
    nearThreshold: 0,
    hits: 0,
    before: 0,
    after: 0,
    held: false,
  };

  constructor(parts: EvaluatorParts) {
    this.#parts = parts;
  }

  /** Sets `code` and `remaining` of all descriptors of a request. Returns a fault if a key could not be counted. */
  evaluate(batch: DecisionBatch, request: number): Fault | null {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    for (let row = first; row < end; row++) {
      decisions.code[row] = CODE.ok;
      const kind = decisions.kind[row];
      if (kind === KIND.limited) {
        if (!this.#evaluateLimited(batch, row)) return uncounted(batch, row);
      } else decisions.remaining[row] = kind === KIND.unlimited ? UNLIMITED_REMAINING : 0;
    }
    return null;
  }

  #evaluateLimited(batch: DecisionBatch, row: number): boolean {
    const { requests, decisions, counters } = batch;
    const statistics = decisions.statistics[row];
    const base = decisions.statisticsBase[row];
    const hits = decisions.hits[row];
    const op = decisions.op[row];
    if (op < 0) {
      addTotal(statistics, base + RULE_STAT.overLimit, hits);
      addTotal(statistics, base + RULE_STAT.overLimitWithLocalCache, hits);
      this.#markOver(batch, row, hits);
      return true;
    }
    const after = counters.opAfters[op];
    if (requests.isRefund[row] === 1) return this.#evaluateRefund(batch, row, after);
    if (Number.isNaN(after)) return this.#evaluateUncounted(batch, row);
    const outcome = this.#outcome;
    outcome.requestsPerUnit = decisions.requestsPerUnit[row];
    outcome.nearThreshold = nearThreshold(this.#parts.nearLimitRatio, outcome.requestsPerUnit);
    outcome.hits = hits;
    outcome.held = counters.opHeld[op] === 1;
    outcome.after = after;
    outcome.before = outcome.held ? after : after - hits;
    countOutcome(statistics, base, outcome);
    if (isOverLimit(outcome)) {
      this.#remember(batch, row);
      this.#markOver(batch, row, hitsOverLimit(outcome));
    } else decisions.remaining[row] = outcome.requestsPerUnit - after;
    return true;
  }

  /**
   * A refund is always OK, and counts neither as near nor as over the limit. If the store could not count it, the
   * remaining hits are those of an unused or a used-up limit, depending on the mode.
   */
  #evaluateRefund({ decisions }: DecisionBatch, row: number, after: number): boolean {
    const { uncounted } = this.#parts;
    const isCounted = !Number.isNaN(after);
    if (!isCounted && uncounted === 'refuse') return false;
    const used = isCounted ? after : uncounted === 'allow' ? 0 : Number.POSITIVE_INFINITY;
    decisions.remaining[row] = Math.max(decisions.requestsPerUnit[row] - used, 0);
    return true;
  }

  /**
   * Decides without a count, as if the limit were unused or used up. Such a decision is not counted in the statistics of
   * the rule. Returns false if the request has to be rejected.
   */
  #evaluateUncounted({ decisions }: DecisionBatch, row: number): boolean {
    const { uncounted } = this.#parts;
    if (uncounted === 'refuse') return false;
    const left = uncounted === 'allow' ? decisions.requestsPerUnit[row] - decisions.hits[row] : -1;
    decisions.remaining[row] = Math.max(left, 0);
    const isShadow = (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0;
    if (left < 0 && !isShadow) decisions.code[row] = CODE.overLimit;
    return true;
  }

  /** Marks a descriptor as over its limit. A rule in shadow mode only counts the hits over the limit (spec 3.3). */
  #markOver(batch: DecisionBatch, row: number, hitsOver: number): void {
    const { decisions } = batch;
    decisions.remaining[row] = 0;
    if ((decisions.flags[row] & LIMIT_FLAG.shadow) === 0) decisions.code[row] = CODE.overLimit;
    else addTotal(decisions.statistics[row], decisions.statisticsBase[row] + RULE_STAT.shadowMode, hitsOver);
  }

  #remember(batch: DecisionBatch, row: number): void {
    const { overLimit } = this.#parts;
    if (overLimit === null) return;
    const { decisions, keys, nowS } = batch;
    const key = { start: decisions.keyStart[row], end: decisions.keyEnd[row] };
    const known = { word: batch.counters.markWord(decisions.op[row]), mark: decisions.mark[row] };
    overLimit.add(keys.bytes, key, secondsUntilReset(decisions.unit[row], nowS), known);
  }
}

function uncounted(batch: DecisionBatch, row: number): Fault {
  const key = Buffer.from(
    batch.keys.bytes.subarray(batch.decisions.keyStart[row], batch.decisions.keyEnd[row]),
  );
  const { failureText } = batch.counters;
  const why = failureText === '' ? '' : `: ${failureText}`;
  return new Fault(
    'store_failed',
    `the store could not count the key \`${key.toString('utf8', 0, 200)}\`${why}`,
  );
}

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
