import { SECOND_MS } from '../base/clock.ts';
import type { AdmissionTerms } from '../counters/admission/admission.ts';
import { NEVER_FULL } from '../counters/batch.ts';
import type { OpLease } from '../counters/leases/op-leases.ts';
import { secondsUntilReset, windowLengthS } from '../counters/window.ts';
import { LIMIT_FLAG } from '../rules/layout.ts';
import { RULE_STAT } from '../stats/names.ts';
import { countInClass, type DecisionBatch, type DecisionTable, KIND, mostHits, PENALIZED } from './batch.ts';
import type { CountingTerms } from './limits/counting-terms.ts';
import type { OverLimitCache } from './over-limit-cache.ts';
import { addTotal } from './statistics/shared-totals.ts';
import type { LeaseEnd } from './steer.ts';

/** The last step of planning: counts total hits, and adds ops for limits that are not in the local cache. */
export class OpPlanner {
  readonly #overLimit: OverLimitCache | null;
  readonly #expiryJitterS: () => number;
  /** Used again for each op, because objects with large numbers are several allocations. */
  readonly #range = { start: 0, end: 0 };
  readonly #limit = { requests: 0, most: 0 };
  readonly #op = {
    hits: 0,
    isRefund: false,
    limit: 0,
    unit: 0,
    ttlS: 0,
    expiryS: 0,
    terms: null as AdmissionTerms | null,
    lease: null as OpLease | null,
  };
  readonly #lease = { action: 0, bytes: NO_BYTES, start: 0, end: 0 };
  /** Set before each request: whether exceeded limits of the request hold back its other hits. */
  holdsBack = false;
  readonly #leaseEnds: readonly LeaseEnd[];

  /**
   * @param overLimit the local cache; null if disabled
   * @param expiryJitterS returns random seconds to add to a time to live, so that counters do not all expire at once
   * @param leaseEnds what the current request ends of leases beside its ops; see `Steerer.leaseEnds`
   */
  constructor(overLimit: OverLimitCache | null, expiryJitterS: () => number, leaseEnds: readonly LeaseEnd[]) {
    this.#overLimit = overLimit;
    this.#expiryJitterS = expiryJitterS;
    this.#leaseEnds = leaseEnds;
  }

  /**
   * Counts `total_hits` or `total_negative_hits`, looks up hits in the local cache, and adds an op for each remaining
   * limit of the descriptors in rows `[first, end)`, as one group.
   */
  addGroup(batch: DecisionBatch, first: number, end: number): void {
    const { requests, decisions } = batch;
    let anyKnownOver = false;
    for (let row = first; row < end; row++) {
      const kind = decisions.kind[row];
      if (kind === KIND.none || kind > KIND.several) continue;
      const isRefund = requests.isRefund[row] === 1;
      const isKnownOver =
        kind === KIND.several ? this.#addParts(batch, row, isRefund) : this.#addRow(batch, row, isRefund);
      anyKnownOver ||= isKnownOver;
    }
    for (let i = 0; i < this.#leaseEnds.length; i++) this.#endLease(batch, this.#leaseEnds[i]);
    batch.counters.endGroup(anyKnownOver);
  }

  /** Adds an op that ends a lease, and that nothing is answered from. */
  #endLease(batch: DecisionBatch, { row, terms, hits, isRefund, action }: LeaseEnd): void {
    const { decisions } = batch;
    const replaced = decisions.terms[row];
    decisions.terms[row] = terms;
    decisions.hits[row] = hits;
    decisions.leaseAction[row] = action;
    this.#addOp(batch, row, isRefund);
    decisions.terms[row] = replaced;
  }

  /** Returns whether one of several limits is known to be exceeded and holds back hits. */
  #addParts(batch: DecisionBatch, row: number, isRefund: boolean): boolean {
    const { decisions } = batch;
    const first = decisions.firstPart[row];
    let anyKnownOver = false;
    for (let part = first; part < first + decisions.partCount[row]; part++) {
      if (decisions.kind[part] === KIND.none) continue;
      const isKnownOver = this.#addRow(batch, part, isRefund);
      anyKnownOver ||= isKnownOver;
    }
    return anyKnownOver;
  }

  /** Returns whether the limit is known to be exceeded and holds back hits. */
  #addRow(batch: DecisionBatch, row: number, isRefund: boolean): boolean {
    const { decisions } = batch;
    const statistics = decisions.statistics[row];
    const base = decisions.statisticsBase[row];
    const hits = decisions.hits[row];
    const total = isRefund ? RULE_STAT.totalNegativeHits : RULE_STAT.totalHits;
    addTotal(statistics, base + total, hits);
    if (decisions.kind[row] === KIND.unlimited) {
      if (!isRefund) addTotal(statistics, base + RULE_STAT.withinLimit, hits);
      return false;
    }
    countInClass(batch, row, total, hits);
    if (!isRefund && this.#isKnownOver(batch, row)) {
      decisions.op[row] = -1;
      return this.holdsBack && holdsBack(decisions, row);
    }
    decisions.op[row] = this.#addOp(batch, row, isRefund);
    this.#mark(batch, row, isRefund);
    return false;
  }

  /** Looks up a row in the local cache. Sets when a limit resets for which the end of the window does not tell it. */
  #isKnownOver({ decisions, keys, nowMs, nowS }: DecisionBatch, row: number): boolean {
    const overLimit = this.#overLimit;
    const terms = decisions.terms[row];
    if (overLimit === null || (terms !== null && isUnsure(terms, decisions.hits[row]))) return false;
    const range = this.#range;
    range.start = decisions.keyStart[row];
    range.end = decisions.keyEnd[row];
    const limit = this.#limit;
    limit.requests = decisions.requestsPerUnit[row];
    limit.most = terms === null ? limit.requests : terms.most;
    const known = overLimit.find(keys.bytes, range, limit, nowMs);
    if (known === null) return false;
    // Of a limit with a penalty, only penalties are kept. Rules that were loaded since may allow shorter ones only.
    if (terms?.hasPenalty === true) {
      if (known.endMs > nowMs + terms.longestPenaltyMs) return false;
      decisions.flags[row] |= PENALIZED;
    }
    if (terms !== null && terms.admission !== null) {
      // As the store says it: fixed windows reset in whole seconds, and a penalty that ends later does not.
      const ofWindow = terms.isFixed && (!terms.hasPenalty || known.fitsMs > known.endMs);
      decisions.resetMs[row] = known.fitsMs - (ofWindow ? nowS * SECOND_MS : nowMs);
    }
    return true;
  }

  #addOp(batch: DecisionBatch, row: number, isRefund: boolean): number {
    const { decisions, counters, keys, nowS } = batch;
    const terms = decisions.terms[row];
    const unit = decisions.unit[row];
    const jitterS = this.#expiryJitterS();
    const range = this.#range;
    range.start = decisions.keyStart[row];
    range.end = decisions.keyEnd[row];
    const op = this.#op;
    op.hits = decisions.hits[row];
    op.isRefund = isRefund;
    op.limit = this.holdsBack && holdsBack(decisions, row) ? mostHits(decisions, row) : NEVER_FULL;
    op.unit = terms === null ? unit : terms.storeUnit;
    op.ttlS = terms === null ? windowLengthS(unit) + jitterS : terms.ttlS(nowS, jitterS);
    op.expiryS = terms === null ? nowS + secondsUntilReset(unit, nowS) : terms.expiryS(nowS);
    op.terms = terms === null ? null : terms.admission;
    op.lease = terms === null || terms.holders === null ? null : this.#leaseOf(batch, row);
    return counters.addOp(keys.bytes, range, op);
  }

  #leaseOf({ requests, decisions }: DecisionBatch, row: number): OpLease {
    const lease = this.#lease;
    lease.action = decisions.leaseAction[row];
    lease.bytes = requests.bytes;
    lease.start = decisions.holderStart[row];
    lease.end = decisions.holderEnd[row];
    return lease;
  }

  /** Keeps what the caches of all threads know of refunds of the key, from before the store is asked. */
  #mark({ decisions, counters }: DecisionBatch, row: number, isRefund: boolean): void {
    const overLimit = this.#overLimit;
    if (overLimit === null) return;
    const word = counters.markWord(decisions.op[row]);
    // Later hits, in this request and the following ones, must not be rejected because of a cache entry.
    if (isRefund && decisions.hits[row] > 0) overLimit.marks.refunded(word);
    decisions.mark[row] = overLimit.marks.of(word);
  }
}

/**
 * Whether only the store can tell whether hits pass: until when a limit refuses several hits whose hits the store admits,
 * which hits pass after the limit, or which leases have ended.
 */
function isUnsure({ admission, afterLimit, holders }: CountingTerms, hits: number): boolean {
  return afterLimit > 0 || holders !== null || (admission !== null && hits > 1);
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

/**
 * Whether a limit that is exceeded holds back the other hits of the request. In shadow mode, only a plain limit does, as in
 * envoyproxy/ratelimit. A limit of `rate_limits` in shadow mode would otherwise switch off the enforced ones beside it. A
 * limit that hits pass after does not, because whether they pass is decided after they are counted.
 */
function holdsBack({ terms, flags }: DecisionTable, row: number): boolean {
  const counting = terms[row];
  if (counting !== null && counting.afterLimit > 0) return false;
  return counting === null || counting.isWrittenPlain || (flags[row] & LIMIT_FLAG.shadow) === 0;
}
