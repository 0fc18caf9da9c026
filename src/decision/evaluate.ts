import { Fault } from '../base/fault.ts';
import { secondsUntilReset } from '../counters/window.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { RULE_STAT } from '../stats/names.ts';
import { CODE, type DecisionBatch, KIND } from './batch.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { addTotal } from './statistics/shared-totals.ts';

/** `limit_remaining` of an unlimited descriptor (spec 3.2). */
const UNLIMITED_REMAINING = 4_294_967_295;

/** What becomes of a descriptor whose key the store could not count; see `STORE_FAILURE_MODE`. */
export type Uncounted = 'refuse' | 'allow' | 'deny';

/** The parts of an {@link Evaluator} beside the batch. */
interface EvaluatorParts {
  readonly nearLimitRatio: number;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitCache | null;
  readonly uncounted: Uncounted;
}

/** Second half of a decision: counts after the store become a status for each descriptor, and statistics. */
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

  /** Fills `code` and `remaining` of every descriptor of the request; a fault when a key was not counted. */
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
   * A refund asks for nothing: it is OK whatever the count says, and counts neither as near the limit nor as over it.
   * Where the store could not count it, what remains is all or nothing, by the mode.
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
   * Decides without a count: as if there were none, or as if the limit were used up. That says nothing about the hits,
   * so it goes into no statistic of the rule. False when the request is to be refused.
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

  /** A rule in shadow mode counts its hits over the limit, but lets the descriptor pass (spec 3.3). */
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
