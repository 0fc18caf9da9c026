import { SECOND_MS } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { REFUSED } from '../counters/admission/admission.ts';
import { MOST_IN_RESPONSE } from '../messages/current-limit.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { RULE_STAT } from '../stats/names.ts';
import {
  CODE,
  classBase,
  countInClass,
  type DecisionBatch,
  type DecisionTable,
  KIND,
  mostHits,
  PENALIZED,
} from './batch.ts';
import { showBinding } from './binding-limit.ts';
import { passesAfterLimit } from './limits/after-limit.ts';
import type { LimitState } from './limits/counting-terms.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { countLeases } from './statistics/lease-statistics.ts';
import {
  countOutcome,
  hitsOverLimit,
  isOverLimit,
  nearThreshold,
  type Outcome,
} from './statistics/outcome.ts';
import { addTotal } from './statistics/shared-totals.ts';

/** How to decide a descriptor that the store could not count; see `STORE_FAILURE_MODE`. */
export type Uncounted = 'refuse' | 'allow' | 'deny';

/** Second half of a decision, after the store: computes the status of each descriptor and counts its statistics. */
export class Evaluator {
  readonly #nearLimitRatio: number;
  readonly #overLimit: OverLimitCache | null;
  readonly #uncounted: Uncounted;
  readonly #outcome: Outcome = {
    requestsPerUnit: 0,
    nearThreshold: 0,
    hits: 0,
    before: 0,
    after: 0,
    held: false,
  };
  readonly #state: LimitState = {
    nowMs: 0,
    fixedLeftMs: 0,
    level: 0,
    floor: 0,
    previous: 0,
    held: 0,
    leaseEndsMs: 0,
  };

  /** @param overLimit the local cache; null if disabled */
  constructor(nearLimitRatio: number, overLimit: OverLimitCache | null, uncounted: Uncounted) {
    this.#nearLimitRatio = nearLimitRatio;
    this.#overLimit = overLimit;
    this.#uncounted = uncounted;
  }

  /** Sets `code`, `isOver` and `remaining` of all descriptors of a request. Returns a fault if a key could not be counted. */
  evaluate(batch: DecisionBatch, request: number): Fault | null {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    for (let row = first; row < end; row++) {
      const isRefund = requests.isRefund[row] === 1;
      if (decisions.kind[row] !== KIND.several) {
        if (!this.#evaluateRow(batch, row, isRefund)) return uncounted(batch, row);
        continue;
      }
      const firstPart = decisions.firstPart[row];
      for (let part = firstPart; part < firstPart + decisions.partCount[row]; part++) {
        if (!this.#evaluateRow(batch, part, isRefund)) return uncounted(batch, part);
      }
      showBinding(decisions, row);
    }
    return null;
  }

  /** Returns false if the request has to be rejected, because the store could not count the key. */
  #evaluateRow(batch: DecisionBatch, row: number, isRefund: boolean): boolean {
    const { decisions, counters } = batch;
    decisions.code[row] = CODE.ok;
    decisions.isOver[row] = 0;
    const kind = decisions.kind[row];
    if (kind !== KIND.limited) {
      const isFree = kind === KIND.unlimited || kind === KIND.passed;
      decisions.remaining[row] = isFree ? MOST_IN_RESPONSE : 0;
      if (kind === KIND.banned) {
        decisions.isOver[row] = 1;
        decisions.code[row] = CODE.overLimit;
      }
      return true;
    }
    const op = decisions.op[row];
    if (op < 0) {
      this.#evaluateKnownOver(batch, row);
      return true;
    }
    const terms = decisions.terms[row];
    if (terms !== null && terms.admission !== null) return this.#evaluateAdmission(batch, row, isRefund);
    const after = counters.opAfters[op];
    if (isRefund) return this.#evaluateRefund(batch, row, after);
    if (Number.isNaN(after)) return this.#evaluateUncounted(batch, row, false);
    const outcome = this.#outcome;
    outcome.requestsPerUnit = mostHits(decisions, row);
    outcome.hits = decisions.hits[row];
    outcome.held = counters.opHeld[op] === 1;
    outcome.after = after;
    outcome.before = outcome.held ? after : after - outcome.hits;
    setRemaining(decisions, row, outcome.requestsPerUnit - after);
    const share = terms === null ? 0 : terms.afterLimit;
    if (share > 0 && this.#passes(share)) {
      addTotal(batch.ruleTotals, decisions.extraBase[row] + RULE_STAT.totalHits, outcome.hits);
      return true;
    }
    this.#conclude(batch, row, share === 0);
    return true;
  }

  /** Whether the outcome is beyond a limit after which this share of the hits passes. */
  #passes(share: number): boolean {
    const outcome = this.#outcome;
    return isOverLimit(outcome) && !outcome.held && passesAfterLimit(outcome, outcome.requestsPerUnit, share);
  }

  #evaluateKnownOver(batch: DecisionBatch, row: number): void {
    const { decisions } = batch;
    const statistics = decisions.statistics[row];
    const base = decisions.statisticsBase[row];
    const hits = decisions.hits[row];
    addTotal(statistics, base + RULE_STAT.overLimit, hits);
    addTotal(statistics, base + RULE_STAT.overLimitWithLocalCache, hits);
    countInClass(batch, row, RULE_STAT.overLimit, hits);
    countInClass(batch, row, RULE_STAT.overLimitWithLocalCache, hits);
    decisions.remaining[row] = 0;
    markOver(batch, row, hits);
  }

  /** A limit whose hits the store admits or refuses. All hits of a refused request are over the limit. */
  #evaluateAdmission(batch: DecisionBatch, row: number, isRefund: boolean): boolean {
    const { decisions, counters, nowMs } = batch;
    const op = decisions.op[row];
    const terms = decisions.terms[row]!;
    const level = counters.opAfters[op];
    if (Number.isNaN(level)) return this.#evaluateUncounted(batch, row, isRefund);
    const slot = counters.opSlots[op];
    const { floors, previous, penalties } = counters.admissions;
    const state = this.#state;
    state.nowMs = nowMs;
    state.fixedLeftMs = decisions.resetMs[row];
    state.level = level;
    state.floor = floors[slot];
    state.previous = previous[slot];
    if (terms.holders !== null) {
      state.held = counters.leases.slotHeld[slot];
      state.leaseEndsMs = counters.leases.slotEndsMs[slot];
      if (terms.hasExtras) countLeases(counters, op, batch.ruleTotals, decisions.extraBase[row]);
    }
    const isPenalized = counters.opRefused[op] === REFUSED.penalized;
    const left = isPenalized ? 0 : terms.leftAt(level);
    setRemaining(decisions, row, left);
    if (isPenalized) {
      decisions.resetMs[row] = penalties.untils[slot] * SECOND_MS - nowMs;
      decisions.flags[row] |= PENALIZED;
    } else if (!terms.isFixed) decisions.resetMs[row] = terms.resetMs(state);
    if (isRefund) return true;
    const isLeased = terms.holders !== null;
    if (isLeased && !counters.leases.isRefusable(op)) return true;
    // More important classes may have used more than this one may.
    const used = Math.min(terms.usedAt(level), terms.most);
    const isRefused = counters.opRefused[op] !== REFUSED.no;
    const outcome = this.#outcome;
    outcome.requestsPerUnit = terms.most;
    outcome.hits = isLeased ? counters.leases.hits[op] : decisions.hits[row];
    outcome.held = counters.opHeld[op] === 1;
    outcome.after = isRefused ? terms.most + Math.max(outcome.hits, 1) : used;
    outcome.before = isRefused ? terms.most : outcome.held ? used : used - outcome.hits;
    // Fewer hits may still fit, so the refusal is certain only if no hit is left. Of a limit with a penalty, the store must
    // see each rejection until the penalty begins.
    this.#conclude(batch, row, terms.hasPenalty ? isPenalized : isRefused && left === 0 && !isLeased);
    // After the local cache has the time until which no other request fits either.
    if (isRefused) waitForHits(decisions, row, terms.waitMs(state, outcome.hits));
    return true;
  }

  /** Counts the outcome, and marks the row if it is over its limit. */
  #conclude(batch: DecisionBatch, row: number, isCertain: boolean): void {
    const { decisions } = batch;
    const outcome = this.#outcome;
    outcome.nearThreshold = nearThreshold(this.#nearLimitRatio, outcome.requestsPerUnit);
    countOutcome(decisions.statistics[row], decisions.statisticsBase[row], outcome);
    const ofClass = classBase(decisions, row);
    if (ofClass >= 0) countOutcome(batch.ruleTotals, ofClass, outcome);
    if (!isOverLimit(outcome)) return;
    if (isCertain) this.#remember(batch, row);
    markOver(batch, row, hitsOverLimit(outcome));
  }

  /** A refund is always OK, and counts neither as near nor as over the limit. */
  #evaluateRefund(batch: DecisionBatch, row: number, after: number): boolean {
    const { decisions } = batch;
    if (Number.isNaN(after)) return this.#evaluateUncounted(batch, row, true);
    setRemaining(decisions, row, mostHits(decisions, row) - after);
    return true;
  }

  /**
   * Decides without a count, as if the limit were unused or used up. Such a decision is not counted in the statistics of
   * the rule. Returns false if the request has to be rejected.
   */
  #evaluateUncounted({ decisions, nowMs }: DecisionBatch, row: number, isRefund: boolean): boolean {
    const uncounted = this.#uncounted;
    if (uncounted === 'refuse') return false;
    const terms = decisions.terms[row];
    const most = terms === null ? decisions.requestsPerUnit[row] : terms.most;
    const hits = isRefund ? 0 : decisions.hits[row];
    const left = uncounted === 'allow' ? most - hits : isRefund ? 0 : -1;
    setRemaining(decisions, row, left);
    const state = this.#state;
    const isAdmitted = terms !== null && terms.admission !== null;
    if (isAdmitted) {
      state.nowMs = nowMs;
      state.fixedLeftMs = decisions.resetMs[row];
      state.level = (terms.most - Math.max(left, 0)) * terms.admission.scale;
      state.floor = 0;
      state.previous = 0;
      state.held = 0;
      state.leaseEndsMs = 0;
      if (!terms.isFixed) decisions.resetMs[row] = terms.resetMs(state);
    }
    if (left >= 0) return true;
    decisions.isOver[row] = 1;
    if ((decisions.flags[row] & LIMIT_FLAG.shadow) === 0) decisions.code[row] = CODE.overLimit;
    if (isAdmitted) waitForHits(decisions, row, terms.waitMs(state, hits));
    return true;
  }

  #remember(batch: DecisionBatch, row: number): void {
    const overLimit = this.#overLimit;
    const { decisions, counters, keys, nowMs, nowS } = batch;
    // Once the store is available again, its counts decide.
    if (overLimit === null || counters.isCountedElsewhere(decisions.op[row])) return;
    const terms = decisions.terms[row];
    const requests = decisions.requestsPerUnit[row];
    const isPenalized = (decisions.flags[row] & PENALIZED) !== 0;
    // Fixed windows reset in whole seconds, counted from the beginning of this one.
    const isFixed = terms === null || terms.admission === null || terms.isFixed;
    const fromMs = isFixed ? nowS * SECOND_MS : nowMs;
    const endMs = (isPenalized ? nowMs : fromMs) + decisions.resetMs[row];
    overLimit.add(
      keys.bytes,
      { start: decisions.keyStart[row], end: decisions.keyEnd[row] },
      {
        sinceMs: nowMs,
        endMs,
        fitsMs: isPenalized ? Math.max(endMs, fromMs + terms!.waitMs(this.#state, 1)) : endMs,
        word: counters.markWord(decisions.op[row]),
        mark: decisions.mark[row],
        requests,
        most: terms?.most ?? requests,
      },
    );
  }
}

/** Sets what is left of a limit. A part of what one of its requests is worth does not count. */
function setRemaining({ remaining, terms }: DecisionTable, row: number, hits: number): void {
  const scale = terms[row]?.scale ?? 1;
  remaining[row] = hits <= 0 ? 0 : scale === 1 ? hits : Math.floor(hits / scale);
}

/** Sets when a limit resets for a rejected request: when its hits fit, but not before the end of a penalty. */
function waitForHits({ code, flags, resetMs }: DecisionTable, row: number, waitMs: number): void {
  if (code[row] !== CODE.overLimit) return;
  resetMs[row] = (flags[row] & PENALIZED) !== 0 ? Math.max(waitMs, resetMs[row]) : waitMs;
}

/** Marks a row as over its limit. A rule in shadow mode only counts the hits over the limit (spec 3.3). */
function markOver(batch: DecisionBatch, row: number, hitsOver: number): void {
  const { decisions } = batch;
  decisions.isOver[row] = 1;
  if ((decisions.flags[row] & LIMIT_FLAG.shadow) === 0) decisions.code[row] = CODE.overLimit;
  else {
    addTotal(decisions.statistics[row], decisions.statisticsBase[row] + RULE_STAT.shadowMode, hitsOver);
    countInClass(batch, row, RULE_STAT.shadowMode, hitsOver);
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
