/**
 * Fixed windows in whole seconds since the epoch, aligned by integer division. Units are addressed by the numbers of
 * `RateLimitResponse.RateLimit.Unit`: SECOND 1, MINUTE 2, HOUR 3, DAY 4, MONTH 5 (30 days), YEAR 6 (365 days), WEEK 7
 * (from Thursday 00:00 UTC, the weekday of the epoch).
 */
const LENGTH_S = Int32Array.of(0, 1, 60, 3_600, 86_400, 2_592_000, 31_536_000, 604_800);

/** The unit whose limits may be counted in a store of their own. */
export const SECOND = 1;

/** True for the number of a unit that has a window. */
export function isUnit(unit: number): boolean {
  return unit >= 1 && unit < LENGTH_S.length;
}

/** Length of a window of the unit. */
export function windowLengthS(unit: number): number {
  return LENGTH_S[unit];
}

/** First second of the window that `nowS` lies in. */
export function windowStartS(unit: number, nowS: number): number {
  return nowS - (nowS % LENGTH_S[unit]);
}

/** Seconds until the next window begins: from 1 to the length of the window. */
export function secondsUntilReset(unit: number, nowS: number): number {
  return LENGTH_S[unit] - (nowS % LENGTH_S[unit]);
}
