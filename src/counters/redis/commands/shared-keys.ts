import { isUnit, windowLengthS, windowStartS } from '../../window.ts';

/** Every unit, as `window.ts` numbers them. */
const UNITS = [1, 2, 3, 4, 5, 6, 7];

/** How far the clocks of those who count in one Redis may be apart. */
const CLOCK_SKEW_S = 60;

/**
 * Tells for which counters it is not enough to set the time to live when they are new.
 *
 * A key holds the start of its window but not its unit, so a counter of an hour and one of a minute can be one key,
 * and whoever counts first makes it. The longer window must win. A counter of a shorter window can be alive only for a
 * while after the start; later in the longer window what is there is its own.
 */
export class SharedKeys {
  readonly #jitterS: number;
  /** By unit: 1 while a shorter window's counter of the same key may be alive. */
  readonly #shared = new Uint8Array(UNITS.length + 1);
  #atS = -1;

  /** @param jitterS the most that a time to live is longer than its window */
  constructor(jitterS: number) {
    this.#jitterS = Math.max(jitterS, 0);
  }

  /** By unit: 1 when the time to live must be looked at. Valid until the next call. */
  at(nowS: number): Uint8Array {
    if (nowS === this.#atS) return this.#shared;
    this.#atS = nowS;
    this.#shared[0] = 1;
    for (const unit of UNITS) this.#shared[unit] = this.#isShared(unit, nowS) ? 1 : 0;
    return this.#shared;
  }

  #isShared(unit: number, nowS: number): boolean {
    if (!isUnit(unit)) return true;
    const startS = windowStartS(unit, nowS);
    let longestS = 0;
    for (const other of UNITS) {
      const lengthS = windowLengthS(other);
      if (lengthS < windowLengthS(unit) && startS % lengthS === 0) longestS = Math.max(longestS, lengthS);
    }
    if (longestS === 0) return false;
    return nowS - startS <= 2 * longestS + this.#jitterS + CLOCK_SKEW_S;
  }
}
