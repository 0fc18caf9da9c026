import type { Schedule } from '../documents.ts';
import type { NominalTimes } from './schedule-times.ts';

/** With mode `none`: what is late by no more is not missed, but late. */
const LATE_MS = 10_000;
/** So many missed times are counted, and no more: after a long outage nobody waits for the count. */
const MAX_COUNTED = 1_000;

/** What is to be done about the nominal times that have come. */
interface Due {
  /** For these, oldest first, there is to be a run. */
  readonly fire: readonly number[];
  /** How many others there were, as far as they were counted. */
  readonly skipped: number;
}

/**
 * Of the nominal times from `nextAt` to `now`, both included: which of them are made up for (specification 3.9).
 *
 * `latest` and `none` fire for the last one only; `all` for up to `max`, the last ones. What is older than the window is
 * left; with `none` the window is just long enough for a process that is slow.
 *
 * @param jitterMs how much later than its nominal time a run may be without being late
 */
export function dueTimes(
  times: Pick<NominalTimes, 'next'>,
  { mode, windowMs, max }: Schedule['catchUp'],
  nextAt: number,
  now: number,
  jitterMs = 0,
): Due {
  const from = Math.max(nextAt, now - (mode === 'none' ? LATE_MS : windowMs) - jitterMs);
  const most = mode === 'all' ? max : 1;
  const come: number[] = [];
  let next: number | null = nextAt;
  while (next !== null && next <= now && come.length < MAX_COUNTED) {
    come.push(next);
    next = times.next(next);
  }
  const counted = next === null || next > now;
  const fire = counted ? come.filter(time => time >= from).slice(-most) : lastTimes(times, from, now, most);
  return { fire, skipped: Math.max(come.length - fire.length, 0) };
}

/** The last times from `from` to `until`, oldest first, at most `count`. */
function lastTimes(times: Pick<NominalTimes, 'next'>, from: number, until: number, count: number): number[] {
  const found: number[] = [];
  let last = lastTime(times, from, until);
  while (last !== null) {
    found.unshift(last);
    last = found.length < count ? lastTime(times, from, last - 1) : null;
  }
  return found;
}

/**
 * The last time from `from` to `until`, both included; null for none. Times can only be asked for forwards, so it is
 * found by halving.
 */
export function lastTime(times: Pick<NominalTimes, 'next'>, from: number, until: number): number | null {
  let last = times.next(from - 1);
  if (last === null || last > until) return null;
  let none = until;
  while (none > last) {
    const middle: number = Math.floor((last + none) / 2);
    const next = times.next(middle);
    if (next === null || next > until) none = middle;
    else last = next;
  }
  return last;
}
