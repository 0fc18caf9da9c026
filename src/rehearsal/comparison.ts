import { addTotal, sharedTotals, totalOf } from '../decision/statistics/shared-totals.ts';

/**
 * What is compared, in hits. `rejected`: the candidate rules reject them. `today`: the active rules reject them. `more`:
 * only the candidate rejects them. `fewer`: only the active rules do.
 */
type Figure = 'hits' | 'rejected' | 'today' | 'more' | 'fewer';

/** The figures of one limit of the candidate rules. */
export type ComparedHits = Readonly<Record<Figure, number>>;

/** Distance between two rows, in slots: more than the figures, so that each row has cache lines of its own. */
const ROW_SLOTS = 8;

/**
 * The hits of each limit of the candidate rules, and of all descriptors without a limit there, in memory that all threads
 * share.
 */
export class Comparison {
  readonly #totals: Int32Array<SharedArrayBuffer>;
  /** Number of limits. */
  readonly limitCount: number;

  private constructor(totals: Int32Array<SharedArrayBuffer>, limitCount: number) {
    this.#totals = totals;
    this.limitCount = limitCount;
  }

  static create(limitCount: number): Comparison {
    return new Comparison(sharedTotals((limitCount + 1) * ROW_SLOTS), limitCount);
  }

  /** The comparison of another thread, from its {@link buffer}. */
  static attach(buffer: SharedArrayBuffer, limitCount: number): Comparison {
    return new Comparison(new Int32Array(buffer), limitCount);
  }

  get buffer(): SharedArrayBuffer {
    return this.#totals.buffer;
  }

  /**
   * Counts a decided descriptor.
   *
   * @param limit number of the candidate's limit; -1 if none applies
   */
  add(limit: number, hits: number, isRejected: boolean, isRejectedToday: boolean): void {
    const totals = this.#totals;
    const row = (limit < 0 ? this.limitCount : limit) * ROW_SLOTS;
    addTotal(totals, row, hits);
    if (isRejected) addTotal(totals, row + 1, hits);
    if (isRejectedToday) addTotal(totals, row + 2, hits);
    if (isRejected && !isRejectedToday) addTotal(totals, row + 3, hits);
    if (!isRejected && isRejectedToday) addTotal(totals, row + 4, hits);
  }

  /** @param limit number of the candidate's limit; -1 for descriptors without one */
  of(limit: number): ComparedHits {
    const totals = this.#totals;
    const row = (limit < 0 ? this.limitCount : limit) * ROW_SLOTS;
    return {
      hits: totalOf(totals, row),
      rejected: totalOf(totals, row + 1),
      today: totalOf(totals, row + 2),
      more: totalOf(totals, row + 3),
      fewer: totalOf(totals, row + 4),
    };
  }
}
