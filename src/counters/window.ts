import { UNIT_SECONDS } from '../messages/current-limit.ts';

/** Lengths of the fixed windows. Windows are aligned to the epoch, so a week starts on Thursday 00:00 UTC. */
const LENGTH_S = Int32Array.from(UNIT_SECONDS);

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
