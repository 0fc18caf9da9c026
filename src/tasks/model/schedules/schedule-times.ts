import { TIME_ZONE_ACCEPTED, timeZone } from '../../../base/calendar/time-zone.ts';
import { FNV_START, fnvOver, scramble } from '../../../base/hash.ts';
import type { Schedule } from '../documents.ts';
import { nextCronTime } from './cron.ts';
import { parseCron } from './cron-expression.ts';

/** The fields that decide at which times a schedule fires, without its bounds. */
type SchedulePattern = Pick<Schedule, 'cron' | 'everyMs' | 'phaseMs' | 'timezone' | 'dst'>;
/** The fields that decide when a schedule fires, with its bounds. */
export type ScheduleTiming = SchedulePattern & Pick<Schedule, 'startAt' | 'endAt'>;

/** The nominal times of a schedule. */
export interface NominalTimes {
  readonly kind: 'times';
  /** The first one after `after`, in milliseconds since the epoch; null when the schedule has no more. */
  next(after: number): number | null;
}

/** Why a schedule has no times, and the field that is to blame. */
export interface TimingFault {
  readonly kind: 'fault';
  readonly field: 'cron' | 'timezone';
  readonly detail: string;
}

/** The times of a schedule, unless its expression or its zone is not valid, or the expression never matches. */
export function nominalTimes(timing: ScheduleTiming, now: number): NominalTimes | TimingFault {
  const times = patternTimes(timing, now);
  const { startAt = null, endAt = null } = timing;
  if (times.kind === 'fault' || (startAt === null && endAt === null)) return times;
  return {
    kind: 'times',
    next: after => {
      const next = times.next(startAt === null ? after : Math.max(after, startAt - 1));
      return next === null || (endAt !== null && next >= endAt) ? null : next;
    },
  };
}

/** The times of a schedule as {@link nominalTimes}, without its bounds. */
export function patternTimes(pattern: SchedulePattern, now: number): NominalTimes | TimingFault {
  const { cron, everyMs, phaseMs, dst } = pattern;
  const zone = timeZone(pattern.timezone);
  if (zone === null) {
    const detail = `${JSON.stringify(pattern.timezone.slice(0, 64))} is not a known time zone: use ${TIME_ZONE_ACCEPTED}`;
    return { kind: 'fault', field: 'timezone', detail };
  }
  if (cron === null) {
    return { kind: 'times', next: after => nextAligned(everyMs ?? Number.POSITIVE_INFINITY, phaseMs, after) };
  }
  const expression = parseCron(cron);
  if (expression.kind === 'fault') return { kind: 'fault', field: 'cron', detail: expression.detail };
  if (nextCronTime(expression, zone, dst, now) === null) {
    const detail = `${JSON.stringify(cron)} never matches: no month has this day`;
    return { kind: 'fault', field: 'cron', detail };
  }
  return { kind: 'times', next: after => nextCronTime(expression, zone, dst, after) };
}

/** Every so often, counted from the epoch and the phase, so that all processes and all restarts agree. */
function nextAligned(everyMs: number, phaseMs: number, after: number): number | null {
  if (!Number.isFinite(everyMs)) return null;
  return Math.floor((after - phaseMs) / everyMs + 1) * everyMs + phaseMs;
}

/**
 * The next nominal time of a schedule whose pattern has not changed, which is never one that has had its run: the clock
 * may have been set back since.
 */
export function nextAfter(
  { lastRun }: Pick<Schedule, 'lastRun'>,
  times: NominalTimes,
  now: number,
): number | null {
  return times.next(Math.max(now, lastRun?.scheduledFor ?? 0));
}

/** How many runs a schedule may still have; triggers do not count. Without `maxRuns` there is no end. */
export function runsLeft({ maxRuns = null, fired }: Pick<Schedule, 'maxRuns' | 'fired'>): number {
  return maxRuns === null ? Number.POSITIVE_INFINITY : Math.max(0, maxRuns - fired);
}

/** With mode `none`, a time that is late by at most this still fires. */
const LATE_MS = 10_000;
/** Maximum number of missed times that are counted, which bounds the work after a long outage. */
const MAX_COUNTED = 1_000;

/** How missed runs are made up for. */
type CatchUp = Schedule['catchUp'] & {
  /** How much later than its nominal time a run may be without being late. Undefined means 0. */
  readonly jitterMs?: number | undefined;
};

/** Which nominal times of the past get a run. */
interface Due {
  /** For these, oldest first, there is to be a run. */
  readonly fire: readonly number[];
  /** How many others there were, as far as they were counted. */
  readonly skipped: number;
}

/**
 * Of the nominal times from `nextAt` to `now`, both included: which of them are made up for (specification 3.9).
 *
 * `latest` and `none` fire for the last one only; `all` for up to `max`, the last ones. Older times than the window are
 * skipped; with `none` the window is just long enough for a process that is slow.
 *
 */
export function dueTimes(
  times: Pick<NominalTimes, 'next'>,
  { mode, windowMs, max, jitterMs = 0 }: CatchUp,
  nextAt: number,
  now: number,
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
function lastTime(times: Pick<NominalTimes, 'next'>, from: number, until: number): number | null {
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

/** The fields that decide how long after a nominal time a schedule fires. */
export type JitteredPattern = SchedulePattern & Pick<Schedule, 'jitterMs'>;

/**
 * Returns when a schedule fires for a nominal time: up to `jitterMs` later, and before the next nominal time. The delay
 * follows from the id and the time alone, so all processes and all restarts agree.
 *
 * @param id of the schedule
 * @param nominal milliseconds since the epoch, as the result
 */
export function firesAt(id: string, schedule: JitteredPattern, nominal: number): number {
  const { jitterMs = 0 } = schedule;
  if (jitterMs === 0) return nominal;
  const times = patternTimes(schedule, nominal);
  const next = times.kind === 'times' ? times.next(nominal) : null;
  const room = next === null ? jitterMs : Math.min(jitterMs, next - nominal);
  return nominal + Math.floor(shareOf(`${id}@${nominal}`) * room);
}

/** From 0 to below 1, evenly spread over texts. */
function shareOf(text: string): number {
  const bytes = Buffer.from(text, 'latin1');
  return (scramble(fnvOver(FNV_START, bytes, 0, bytes.length)) >>> 0) / 2 ** 32;
}

/** When the document of a schedule is due: to fire, or to be resumed; null for never. */
export function scheduleDueAt(
  id: string,
  schedule: JitteredPattern & Pick<Schedule, 'paused' | 'resumeAt' | 'nextAt'>,
): number | null {
  const { paused, resumeAt, nextAt } = schedule;
  if (paused) return resumeAt;
  return nextAt === null ? null : firesAt(id, schedule, nextAt);
}

/**
 * Up to which moment the nominal times of a schedule are to fire at `now`. Only the last of them can still wait for its
 * jitter: the moment is right before it then, and `now` otherwise.
 */
export function reachedBy(
  id: string,
  schedule: JitteredPattern & Pick<Schedule, 'nextAt'>,
  times: Pick<NominalTimes, 'next'>,
  now: number,
): number {
  const { jitterMs = 0, nextAt } = schedule;
  if (jitterMs === 0 || nextAt === null) return now;
  const last = lastTime(times, nextAt, now);
  return last === null || firesAt(id, schedule, last) <= now ? now : last - 1;
}
