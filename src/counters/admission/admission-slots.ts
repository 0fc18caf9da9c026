import { doubleColumns } from '../../base/bytes.ts';
import { ADMISSION, type AdmissionTerms, admittedOf, levelAfterRefund } from './admission.ts';
import type { Penalty } from './penalty.ts';
import { SlotPenalties } from './slot-penalties.ts';

const INITIAL_RUNS = 64;

/**
 * The slots of a batch whose hits the store admits, in columns. The columns of slots have the numbers of the batch.
 *
 * The requests of a slot are kept as *runs*: consecutive requests with the same hits and the same reserve. How many
 * requests of a run are admitted is a closed form, so the store does not need the requests one by one, and the caller
 * finds the answer of each one from the level before the batch.
 */
export class AdmissionSlots {
  /** Number of slots that are not plain counts. While it is 0, no column has to be read. */
  count = 0;
  /** Number of requests with a reserve. While it is 0, no reserve has to be passed on. */
  reservedCount = 0;
  /** {@link ADMISSION}. */
  kinds: Uint8Array<ArrayBuffer>;
  scales: Float64Array<ArrayBuffer>;
  capacities: Float64Array<ArrayBuffer>;
  drains: Float64Array<ArrayBuffer>;
  windowsS: Float64Array<ArrayBuffer>;
  /** Set by the store: the part of the level before the batch that refunds cannot lower. */
  floors: Float64Array<ArrayBuffer>;
  /** Set by the store: the hits of the previous window of a sliding window. */
  previous: Float64Array<ArrayBuffer>;
  readonly penalties = new SlotPenalties();
  /** Index of the first run of the slot, and of its last run. */
  firstRuns: Int32Array<ArrayBuffer>;
  lastRuns: Int32Array<ArrayBuffer>;

  runCount = 0;
  runHits = new Float64Array(INITIAL_RUNS);
  /** Number of requests of the run. */
  runRequests = new Float64Array(INITIAL_RUNS);
  /** 1 if the hits of the run are given back. */
  runRefunds = new Uint8Array(INITIAL_RUNS);
  /** Units that the requests of the run leave free; see `AdmissionTerms.reserve`. */
  runReserves = new Float64Array(INITIAL_RUNS);
  /** Index of the next run of the same slot; -1 for none. */
  runNext = new Int32Array(INITIAL_RUNS);

  constructor(slots: number) {
    this.kinds = new Uint8Array(slots);
    this.scales = new Float64Array(slots);
    this.capacities = new Float64Array(slots);
    this.drains = new Float64Array(slots);
    this.windowsS = new Float64Array(slots);
    this.floors = new Float64Array(slots);
    this.previous = new Float64Array(slots);
    this.firstRuns = new Int32Array(slots);
    this.lastRuns = new Int32Array(slots);
  }

  reset(): void {
    this.count = 0;
    this.reservedCount = 0;
    this.runCount = 0;
    this.penalties.count = 0;
  }

  /** Sets how a new slot is counted; null for a plain count. */
  open(slot: number, terms: AdmissionTerms | null): void {
    if (terms === null) {
      this.kinds[slot] = ADMISSION.count;
      return;
    }
    this.count++;
    this.kinds[slot] = terms.admission;
    this.scales[slot] = terms.scale;
    this.capacities[slot] = terms.capacity;
    this.drains[slot] = terms.drain;
    this.windowsS[slot] = terms.windowS;
    this.floors[slot] = 0;
    this.previous[slot] = 0;
    this.firstRuns[slot] = -1;
    this.lastRuns[slot] = -1;
    this.penalties.open(slot, terms.penalty ?? null);
  }

  /** Whether leases hold the hits of a slot. */
  isLeased(slot: number): boolean {
    return this.kinds[slot] === ADMISSION.leased;
  }

  /** Appends a request to the runs of a slot. */
  addRequest(slot: number, hits: number, isRefund: boolean, reserve: number): void {
    const last = this.lastRuns[slot];
    const refund = isRefund ? 1 : 0;
    if (reserve > 0) this.reservedCount++;
    if (
      last >= 0 &&
      this.runHits[last] === hits &&
      this.runRefunds[last] === refund &&
      this.runReserves[last] === reserve
    ) {
      this.runRequests[last]++;
      return;
    }
    if (this.runCount === this.runHits.length) {
      doubleColumns(this, ['runHits', 'runRequests', 'runRefunds', 'runReserves', 'runNext']);
    }
    const run = this.runCount++;
    this.runHits[run] = hits;
    this.runRequests[run] = 1;
    this.runRefunds[run] = refund;
    this.runReserves[run] = reserve;
    this.runNext[run] = -1;
    if (last < 0) this.firstRuns[slot] = run;
    else this.runNext[last] = run;
    this.lastRuns[slot] = run;
  }

  /** Removes the runs of all slots, so that other ones can be added. */
  clearRuns(slotCount: number): void {
    this.reservedCount = 0;
    this.runCount = 0;
    this.firstRuns.fill(-1, 0, slotCount);
    this.lastRuns.fill(-1, 0, slotCount);
  }

  /** The terms of a slot, as an op with a reserve has them; nothing for a plain count. */
  termsOf(slot: number, reserve = 0): { readonly terms?: AdmissionTerms } {
    const admission = this.kinds[slot];
    if (admission === ADMISSION.count) return {};
    const scale = this.scales[slot];
    const [capacity, drain, windowS] = [this.capacities[slot], this.drains[slot], this.windowsS[slot]];
    const penalty = this.penalties.of(slot);
    const terms = { admission, scale, capacity, drain, windowS };
    if (reserve > 0) return { terms: { ...terms, reserve } };
    return { terms: penalty === null ? terms : { ...terms, penalty } };
  }

  /** Number of runs of a slot. */
  runsOf(slot: number): number {
    let runs = 0;
    for (let run = this.firstRuns[slot]; run >= 0; run = this.runNext[run]) runs++;
    return runs;
  }

  /** Whether a slot has only one request, which has hits to add. */
  isSingle(slot: number): boolean {
    const run = this.firstRuns[slot];
    return (
      run >= 0 &&
      this.runNext[run] < 0 &&
      this.runRequests[run] === 1 &&
      this.runRefunds[run] === 0 &&
      this.runHits[run] > 0
    );
  }

  /** Whether any request of a slot has a reserve. */
  hasReserve(slot: number): boolean {
    if (this.reservedCount === 0) return false;
    for (let run = this.firstRuns[slot]; run >= 0; run = this.runNext[run]) {
      if (this.runReserves[run] > 0) return true;
    }
    return false;
  }

  /** Whether the runs of a slot contain more than refunds. A key that is only refunded is not created. */
  opens(slot: number): boolean {
    for (let run = this.firstRuns[slot]; run >= 0; run = this.runNext[run]) {
      if (this.runRefunds[run] === 0) return true;
    }
    return false;
  }

  /** The level of a slot after all its runs. `floors` of the slot must be set. */
  levelAfter(slot: number, level: number): number {
    const scale = this.scales[slot];
    let after = level;
    for (let run = this.firstRuns[slot]; run >= 0; run = this.runNext[run]) {
      const hits = this.runHits[run];
      const requests = this.runRequests[run];
      const terms = { capacity: this.capacities[slot] - this.runReserves[run], scale };
      after =
        this.runRefunds[run] === 1
          ? levelAfterRefund(after, this.floors[slot], requests * hits * scale)
          : after + admittedOf(after, terms, hits, requests) * hits * scale;
    }
    return after;
  }

  /**
   * Like {@link levelAfter}, for a slot with a penalty. Also brings the state of the penalty to the end of the runs.
   * @param endS the end of the window; 0 for a sliding window or a token bucket
   */
  levelAfterPenalized(
    slot: number,
    level: number,
    { nowMs, endS, state }: { readonly nowMs: number; readonly endS: number; readonly state: Penalty },
  ): number {
    const scale = this.scales[slot];
    const terms = { capacity: this.capacities[slot], scale };
    const penalty = this.penalties.of(slot)!;
    let after = level;
    for (let run = this.firstRuns[slot]; run >= 0; run = this.runNext[run]) {
      const hits = this.runHits[run];
      const requests = this.runRequests[run];
      if (this.runRefunds[run] === 1)
        after = levelAfterRefund(after, this.floors[slot], requests * hits * scale);
      else if (!state.isActive(nowMs)) {
        const admitted = admittedOf(after, terms, hits, requests);
        after += admitted * hits * scale;
        if (admitted < requests && hits > 0) state.reject(nowMs, penalty, endS);
      }
    }
    return after;
  }

  /** Whether one request fits into a slot at a level. */
  fits(slot: number, level: number, hits: number, reserve: number): boolean {
    return level + Math.max(hits, 1) * this.scales[slot] <= this.capacities[slot] - reserve;
  }

  grow(): void {
    doubleColumns(this, ['kinds', 'scales', 'capacities', 'drains', 'windowsS', 'floors', 'previous']);
    doubleColumns(this, ['firstRuns', 'lastRuns']);
  }
}
