import { nextCronTime } from './cron.ts';
import { parseCron } from './cron-expression.ts';
import type { Schedule } from './documents.ts';
import { TIME_ZONE_ACCEPTED, timeZone } from './time-zone.ts';

/** What says when a schedule fires. */
export type ScheduleTiming = Pick<Schedule, 'cron' | 'everyMs' | 'phaseMs' | 'timezone' | 'dst'>;

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
  const { cron, everyMs, phaseMs, dst } = timing;
  const zone = timeZone(timing.timezone);
  if (zone === null) {
    const detail = `there is no time zone ${JSON.stringify(timing.timezone.slice(0, 64))}: give ${TIME_ZONE_ACCEPTED}`;
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

/** When the document of a schedule is due: to fire, or to be resumed; null for never. */
export function scheduleDueAt({
  paused,
  resumeAt,
  nextAt,
}: Pick<Schedule, 'paused' | 'resumeAt' | 'nextAt'>): number | null {
  return paused ? resumeAt : nextAt;
}
