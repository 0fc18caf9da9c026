import { LONGEST_CHANGE_MS, type TimeZone, timeZone } from '../../../base/calendar/time-zone.ts';
import { DAY_MS } from '../../../base/clock.ts';
import { nextReading } from './cron.ts';
import { type CronExpression, parseCron } from './cron-expression.ts';
import { nominalTimes, patternTimes, type ScheduleTiming, type TimingFault } from './schedule-times.ts';

/**
 * How a clock change affects a time:
 *
 * - `moved_by_dst`: the clock leaves the time out, so the run is at the first moment after it
 * - `first_of_two`, `second_of_two`: the clock shows the time twice; this is the first or the second time
 * - `previous_skipped_by_dst`: the clock left out a time before this one, and `gap: skip` leaves it out as well
 */
export const DST_NOTES = [
  'moved_by_dst',
  'first_of_two',
  'second_of_two',
  'previous_skipped_by_dst',
] as const;
type DstNote = (typeof DST_NOTES)[number];

/** A time at which a schedule would fire. Milliseconds since the epoch; the offset is what is added to UTC. */
export interface PreviewedTime {
  readonly at: number;
  readonly offsetMs: number;
  readonly note: DstNote | null;
}

/** How far a preview looks ahead. Each year costs half a millisecond, which a rare date could multiply by hundreds. */
const HORIZON_MS = 3_660 * DAY_MS;

/**
 * The first times from `from` on, at most `count` and within ten years; fewer if there are no more.
 *
 * @param from milliseconds since the epoch, included
 */
export function previewTimes(
  timing: ScheduleTiming,
  from: number,
  count: number,
): readonly PreviewedTime[] | TimingFault {
  const times = nominalTimes(timing, from);
  if (times.kind === 'fault') return times;
  const zone = timeZone(timing.timezone)!;
  const note = notesOf(timing, zone);
  const until = Math.max(from, timing.startAt ?? from) + HORIZON_MS;
  const found: PreviewedTime[] = [];
  let before = from - 1;
  while (found.length < count) {
    const at = times.next(before);
    if (at === null || at > until) break;
    found.push({ at, offsetMs: zone.offsetAt(at), note: note(before, at) });
    before = at;
  }
  return found;
}

/** Returns a function that says what there is to note on the time `at`, of which `before` is the one before. */
function notesOf(timing: ScheduleTiming, zone: TimeZone): (before: number, at: number) => DstNote | null {
  const expression = timing.cron === null ? null : parseCron(timing.cron);
  if (expression === null || expression.kind === 'fault' || expression.hour.star) return () => null;
  const moving =
    timing.dst.gap === 'skip'
      ? patternTimes({ ...timing, dst: { ...timing.dst, gap: 'run_after' } }, timing.startAt ?? 0)
      : null;
  return (before, at) => {
    const note = clockNote(expression, zone, at);
    if (note !== null || moving?.kind !== 'times') return note;
    const start = Math.max(before, (timing.startAt ?? before) - 1);
    return moving.next(start) === at ? null : 'previous_skipped_by_dst';
  };
}

function clockNote(expression: CronExpression, zone: TimeZone, at: number): DstNote | null {
  const reading = at + zone.offsetAt(at);
  if (nextReading(expression, reading) !== reading) return 'moved_by_dst';
  if (reading < zone.readBefore(at)) return 'second_of_two';
  const change = zone.nextTransition(at, at + LONGEST_CHANGE_MS);
  return change !== null && reading >= change.at + change.after ? 'first_of_two' : null;
}
