/**
 * Lengths of the fixed windows in seconds, by `RateLimitResponse.RateLimit.Unit`: SECOND 1, MINUTE 2, HOUR 3, DAY 4,
 * MONTH 5 (30 days), YEAR 6 (365 days), WEEK 7. Windows are aligned to the epoch, so a week starts on Thursday 00:00 UTC.
 */
const LENGTH_S = Int32Array.of(0, 1, 60, 3_600, 86_400, 2_592_000, 31_536_000, 604_800);

/** The unit whose limits can be counted in a separate store. */
export const SECOND = 1;

/** Whether a number is the number of a unit, except UNKNOWN. */
export function isUnit(unit: number): boolean {
  return unit >= 1 && unit < LENGTH_S.length;
}

/** Length of the window of a unit, in seconds. */
export function windowLengthS(unit: number): number {
  return LENGTH_S[unit];
}

/** Start of the window that contains `nowS`. */
export function windowStartS(unit: number, nowS: number): number {
  return nowS - (nowS % LENGTH_S[unit]);
}

/** Seconds until the next window starts: from 1 to the length of the window. */
export function secondsUntilReset(unit: number, nowS: number): number {
  return LENGTH_S[unit] - (nowS % LENGTH_S[unit]);
}
