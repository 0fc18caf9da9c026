import { SECOND_MS } from '../../base/clock.ts';

/**
 * When and how long a key is penalized that keeps exceeding its limit. Whole numbers.
 *
 * A *violation* is a window in which at least one request was rejected. For sliding windows and token buckets, which have
 * no windows of their own to tell apart, it is a period of the length of the window that begins with a rejection.
 */
export interface PenaltyTerms {
  /** Number of violations that lead to a penalty: 1 to {@link MOST_COUNTED}. */
  readonly after: number;
  /** Length of the first penalty, in seconds. */
  readonly forS: number;
  /** How many times as long each further penalty is. */
  readonly factor: number;
  /** Length of the longest penalty, in seconds. */
  readonly maxS: number;
  /** Length of a window in seconds; of a calendar, that of its longest window. */
  readonly windowS: number;
}

/** The most violations and penalties that are counted. Rules with a greater `after` are refused. */
export const MOST_COUNTED = 1_000;

/** Difference between the clocks of two processes up to which a state is not taken for that of a clock that was set back. */
export const SKEW_S = 60;

/**
 * The violations and penalties of a key. `redis/protocol/penalty-functions.ts` calculates with the same operations.
 *
 * Times are whole seconds since the epoch. Violations and penalties are forgotten a quiet time after the end of the last
 * violated window and of the last penalty, whichever is later: see {@link forgottenS}.
 */
export class Penalty {
  /** Number of violations since the last penalty. */
  violations = 0;
  /** Number of penalties so far. */
  penalties = 0;
  /** The end of the last violated window. Until then, further rejections are no violation. */
  closesS = 0;
  /** The end of the last penalty. */
  untilS = 0;

  set(violations: number, penalties: number, closesS: number, untilS: number): void {
    this.violations = violations;
    this.penalties = penalties;
    this.closesS = closesS;
    this.untilS = untilS;
  }

  /**
   * Brings the state to a time. A penalty that lasts longer than the terms allow ends as they say: the rule has changed, or
   * the clock was set back. Returns whether the state must be written for this.
   */
  moveTo(nowMs: number, terms: PenaltyTerms): boolean {
    const nowS = Math.floor(nowMs / SECOND_MS);
    if (this.forgottenS(terms) <= nowS) {
      this.set(0, 0, 0, 0);
      return false;
    }
    const { closesS, untilS } = this;
    this.untilS = Math.min(untilS, nowS + 1 + terms.maxS);
    if (closesS > nowS + 2 * terms.windowS + SKEW_S) this.closesS = nowS + terms.windowS;
    return this.closesS !== closesS || this.untilS !== untilS;
  }

  isActive(nowMs: number): boolean {
    return nowMs < this.untilS * SECOND_MS;
  }

  /**
   * Counts a request that the limit has rejected while no penalty was active.
   * @param endS the end of the window; 0 for a sliding window or a token bucket
   */
  reject(nowMs: number, terms: PenaltyTerms, endS: number): void {
    if (nowMs < this.closesS * SECOND_MS) return;
    const nowS = Math.ceil(nowMs / SECOND_MS);
    this.violations++;
    this.closesS = endS > 0 ? endS : nowS + terms.windowS;
    if (this.violations < terms.after) return;
    this.untilS = nowS + this.#lengthS(terms);
    this.violations = 0;
    this.penalties = Math.min(this.penalties + 1, MOST_COUNTED);
  }

  /** The second from which on the state means nothing. */
  forgottenS({ maxS, windowS }: PenaltyTerms): number {
    return Math.max(this.closesS, this.untilS) + Math.max(maxS, windowS);
  }

  /** The length of the next penalty. */
  #lengthS({ forS, factor, maxS }: PenaltyTerms): number {
    let lengthS = forS;
    for (let i = 0; i < this.penalties && lengthS < maxS && factor > 1; i++) lengthS *= factor;
    return Math.min(lengthS, maxS);
  }
}
