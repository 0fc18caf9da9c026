import type { Progress } from './progress.ts';

/**
 * An allowance for frames that cost us work and the peer nothing: resets, pings, settings, empty frames. It is refilled
 * by time and by what we do for the peer, because honest peers send such frames in proportion to it: some clients
 * measure the round trip with a ping for every answer.
 */
export interface BudgetTerms {
  /** How many may come at once. */
  readonly burst: number;
  readonly perSecond: number;
  readonly perRequest: number;
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
