import type { Schedule } from '../documents.ts';
import { nextCronTime } from './cron.ts';
import { parseCron } from './cron-expression.ts';
import { TIME_ZONE_ACCEPTED, timeZone } from './time-zone.ts';

/** What says at which times a schedule fires, without its bounds. */
export type SchedulePattern = Pick<Schedule, 'cron' | 'everyMs' | 'phaseMs' | 'timezone' | 'dst'>;
/** What says when a schedule fires. */
export type ScheduleTiming = SchedulePattern & Pick<Schedule, 'startAt' | 'endAt'>;

/** The nominal times of a schedule. */
export interface NominalTimes {
  readonly kind: 'times';
  /** The first one after `after`, in milliseconds since the epoch; null when there is none any more. */
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

/** The same without regard to the bounds of the schedule. */
export function patternTimes(pattern: SchedulePattern, now: number): NominalTimes | TimingFault {
  const { cron, everyMs, phaseMs, dst } = pattern;
  const zone = timeZone(pattern.timezone);
  if (zone === null) {
    const detail = `there is no time zone ${JSON.stringify(pattern.timezone.slice(0, 64))}: give ${TIME_ZONE_ACCEPTED}`;
    return { kind: 'fault', field: 'timezone', detail };
  }
  if (cron === null) {
    return { kind: 'times', next: after => nextAligned(everyMs ?? Number.POSITIVE_INFINITY, phaseMs, after) };
  }
  const expression = parseCron(cron);
  if (expression.kind === 'fault') return { kind: 'fault', field: 'cron', detail: expression.detail };
  if (nextCronTime(expression, zone, dst, now) === null) {
    const detail = `${JSON.stringify(cron)} never comes: no day has this date`;
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
