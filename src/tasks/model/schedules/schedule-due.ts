import { FNV_START, fnvOver, scramble } from '../../../base/hash.ts';
import type { Schedule } from '../documents.ts';
import { lastTime } from './catch-up.ts';
import { type NominalTimes, patternTimes, type SchedulePattern } from './schedule-times.ts';

/** What says how long after a nominal time a schedule fires. */
export type JitteredPattern = SchedulePattern & Pick<Schedule, 'jitterMs'>;

/**
 * When a schedule fires for a nominal time: up to `jitterMs` later, and before the next nominal time. The delay follows
 * from the id and the time alone, so all processes and all restarts agree.
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
