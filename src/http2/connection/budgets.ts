import type { BudgetTerms, ConnectionLimits } from './limits.ts';

/** How far a connection has come. */
export interface Progress {
  /**
   * The time at which it is told something, in milliseconds since it began: the transport reads the clock once for each
   * read of the socket, and numbers as small as these are kept without memory of their own.
   */
  nowMs: number;
  /** Well formed requests so far. */
  requests: number;
  /** Work of the frames of the last read; see `LEAST_FRAME_WORK`. */
  work: number;
}

/** What is left of one allowance. */
export class Budget {
  readonly #terms: BudgetTerms;
  readonly #progress: Pick<Progress, 'nowMs' | 'requests'>;
  #left: number;
  #refilledMs: number;
  #paidRequests = 0;

  constructor(terms: BudgetTerms, progress: Pick<Progress, 'nowMs' | 'requests'>) {
    this.#terms = terms;
    this.#progress = progress;
    this.#left = terms.burst;
    this.#refilledMs = progress.nowMs;
  }

  earn(count: number): void {
    this.#left = Math.min(this.#left + count, this.#terms.burst);
  }

  /** Takes so much; false, and nothing taken, when there is not enough left. */
  spend(count = 1): boolean {
    if (this.#left < count) this.#refill();
    if (this.#left < count) return false;
    this.#left -= count;
    return true;
  }

  /** What time and requests have brought is only looked at when it matters, so that neither costs anything. */
  #refill(): void {
    const { perSecond, perRequest } = this.#terms;
    const { nowMs, requests } = this.#progress;
    // The clock may have been put back.
    const elapsedMs = Math.max(nowMs - this.#refilledMs, 0);
    this.earn((elapsedMs * perSecond) / 1_000 + (requests - this.#paidRequests) * perRequest);
    this.#refilledMs = nowMs;
    this.#paidRequests = requests;
  }
}

/** The allowances of one connection; see {@link ConnectionLimits}. */
export class Budgets {
  readonly resets: Budget;
  readonly control: Budget;
  readonly windowChanges: Budget;
  readonly idleFrames: Budget;
  readonly lateFrames: Budget;
  readonly smallData: Budget;
  readonly largeHeaders: Budget;
  readonly streamFaults: Budget;

  constructor(limits: ConnectionLimits, progress: Progress) {
    this.resets = new Budget(limits.resets, progress);
    this.control = new Budget(limits.control, progress);
    this.windowChanges = new Budget(limits.windowChanges, progress);
    this.idleFrames = new Budget(limits.idleFrames, progress);
    this.lateFrames = new Budget(limits.lateFrames, progress);
    this.smallData = new Budget(limits.smallData, progress);
    this.largeHeaders = new Budget(limits.largeHeaders, progress);
    this.streamFaults = new Budget(limits.streamFaults, progress);
  }
}
