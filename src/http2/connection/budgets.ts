import type { BudgetTerms, ConnectionLimits } from './limits.ts';

/** Time and amount of work of a connection. */
export interface Progress {
  /**
   * The time of the current read, in milliseconds since the connection began. The transport reads the clock once per
   * read of the socket. Numbers this small are stored without allocating.
   */
  nowMs: number;
  /** Number of well-formed requests so far. */
  requests: number;
  /** Work of the frames of the last read; see `LEAST_FRAME_WORK`. */
  work: number;
}

/** The remainder of one budget. */
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

  /** Adds to the budget, up to its burst size. */
  earn(count: number): void {
    this.#left = Math.min(this.#left + count, this.#terms.burst);
  }

  /** Adds what a request earns. */
  earnRequest(): void {
    this.earn(this.#terms.perRequest);
  }

  /** Spends `count`. Returns false and spends nothing if less remains. */
  spend(count = 1): boolean {
    if (this.#left < count) this.#refill();
    if (this.#left < count) return false;
    this.#left -= count;
    return true;
  }

  /**
   * Adds what time and requests have earned. Only done when the budget is exhausted, so that it costs nothing
   * otherwise.
   */
  #refill(): void {
    const { perSecond, perRequest } = this.#terms;
    const { nowMs, requests } = this.#progress;
    // The clock may have been set back.
    const elapsedMs = Math.max(nowMs - this.#refilledMs, 0);
    this.earn((elapsedMs * perSecond) / 1_000 + (requests - this.#paidRequests) * perRequest);
    this.#refilledMs = nowMs;
    this.#paidRequests = requests;
  }
}

/** The budgets of one connection, by their names in {@link ConnectionLimits}, which has their meaning. */
export type Budgets = ReturnType<typeof budgetsOf>;

export function budgetsOf(limits: ConnectionLimits, progress: Progress) {
  const budget = (terms: BudgetTerms): Budget => new Budget(terms, progress);
  return {
    resets: budget(limits.resets),
    control: budget(limits.control),
    windowChanges: budget(limits.windowChanges),
    idleFrames: budget(limits.idleFrames),
    lateFrames: budget(limits.lateFrames),
    smallData: budget(limits.smallData),
    largeHeaders: budget(limits.largeHeaders),
    streamFaults: budget(limits.streamFaults),
  };
}
