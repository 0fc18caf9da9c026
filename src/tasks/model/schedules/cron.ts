import type { TimeZone } from '../../../base/calendar/time-zone.ts';
import type { Schedule } from '../documents.ts';
import type { CronExpression } from './cron-expression.ts';

/*
 * The cron library croner is used in tests only, as a second opinion. It cannot replace this code (measured with croner
 * 11.0.1; `test/unit/tasks/model/schedules/croner.test.ts` has the cases):
 *
 * - `dst` of a schedule chooses what happens in a gap and in a doubled hour, independently. croner has no such options.
 *   Its rule treats an expression with a step or `*` in the minute or the hour as an interval, so a run such as
 *   `30 0-23/2 * * *` is lost in a gap and doubled in a doubled hour. Schedules promise this for an hour of `*` only.
 * - A day that a zone leaves out altogether (Samoa, 2011) has no run in croner.
 * - It accepts more expressions (`L`, `W`, `#`, `?`, `+`), and its error texts do not name the accepted range. The parser
 *   would have to stay, and each expression would be parsed twice.
 * - The next time in a zone mostly takes 120 to 280 microseconds in croner. Here it takes 1 to 20 microseconds for common
 *   expressions, and 120 to 200 for dates that come once a year. A date that never comes, such as the 30th of February,
 *   takes croner 4 to 30 milliseconds to rule out, compared with 3 to 14 microseconds here. Callers of the API choose
 *   the expression.
 */

/** The longest time between two 29ths of February, from 2096 to 2104, in years. */
const SEARCH_YEARS = 8;
const DAY_SECONDS = 86_400;

/**
 * The first reading of a calendar and clock, not before `from`, that matches. Readings are written as the milliseconds
 * since the epoch that a clock of UTC would show them at: zones, and clocks that change, are no matter here.
 *
 * @returns null when nothing within eight years matches, which is to say never
 */
export function nextReading(expression: CronExpression, from: number): number | null {
  const fromSeconds = Math.ceil(from / 1_000);
  let day = Math.floor(fromSeconds / DAY_SECONDS);
  let second = fromSeconds - day * DAY_SECONDS;
  const lastYear = new Date(from).getUTCFullYear() + SEARCH_YEARS;
  for (;;) {
    const matching = nextDay(expression, day, lastYear);
    if (matching === null) return null;
    if (matching > day) second = 0;
    const found = nextSecondOfDay(expression, second);
    if (found !== null) return (matching * DAY_SECONDS + found) * 1_000;
    day = matching + 1;
    second = 0;
  }
}

/** Days are counted from the epoch. */
function nextDay(expression: CronExpression, from: number, lastYear: number): number | null {
  const date = new Date(from * DAY_SECONDS * 1_000);
  let year = date.getUTCFullYear();
  let month = date.getUTCMonth() + 1;
  let dayOfMonth = date.getUTCDate();
  while (year <= lastYear) {
    const matching = expression.month.next[month];
    if (matching !== month) {
      dayOfMonth = 1;
      if (matching < 0) {
        year++;
        month = 1;
        continue;
      }
      month = matching;
    }
    const found = nextDayOfMonth(expression, year, month, dayOfMonth);
    if (found !== null) return dayNumber(year, month, found);
    month++;
    dayOfMonth = 1;
  }
  return null;
}

function nextDayOfMonth(
  expression: CronExpression,
  year: number,
  month: number,
  from: number,
): number | null {
  const { dayOfMonth, dayOfWeek } = expression;
  const first = dayNumber(year, month, 1);
  const days = dayNumber(year, month + 1, 1) - first;
  // The epoch was a Thursday.
  let weekday = (((first + from - 1 + 4) % 7) + 7) % 7;
  for (let day = from; day <= days; day++) {
    const byMonth = dayOfMonth.next[day] === day;
    const byWeek = dayOfWeek.next[weekday] === weekday;
    if (dayOfMonth.star || dayOfWeek.star ? byMonth && byWeek : byMonth || byWeek) return day;
    weekday = weekday === 6 ? 0 : weekday + 1;
  }
  return null;
}

/** Months from 1; the 13th is that of the next year. */
function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / (DAY_SECONDS * 1_000);
}

function nextSecondOfDay(expression: CronExpression, from: number): number | null {
  let hour = Math.floor(from / 3_600);
  let minute = Math.floor(from / 60) % 60;
  let second = expression.second.next[from % 60];
  if (second < 0) {
    second = expression.second.next[0];
    minute++;
  }
  const matchingMinute = expression.minute.next[minute];
  if (matchingMinute !== minute) second = expression.second.next[0];
  minute = matchingMinute;
  if (minute < 0) {
    minute = expression.minute.next[0];
    hour++;
  }
  const matchingHour = expression.hour.next[hour];
  if (matchingHour < 0) return null;
  if (matchingHour !== hour) {
    minute = expression.minute.next[0];
    second = expression.second.next[0];
  }
  return matchingHour * 3_600 + minute * 60 + second;
}

/**
 * Returns the first time after `after` at which the expression fires in a zone, in milliseconds since the epoch; null if
 * it does not fire again.
 *
 * If clocks change on that day (specification 3.9), the result depends on the hour:
 *
 * - `*`: the pattern does not care what the clock shows. It fires at each instant that matches: in both passes of an hour
 *   that comes twice, and not at all in one that is left out, so that the times of `*` + `/15` stay 15 minutes apart.
 * - anything else: an appointment by the clock. Times in a gap fire once, at the first instant after it (not at all with
 *   `gap: skip`). A time that comes twice fires the first time (both times with `overlap: twice`).
 *
 * The calendar gives readings of a clock ({@link nextReading}); this walks along the stretches of time in which the
 * offset stays the same, and so decides at their ends what readings that are missing or doubled are worth.
 */
export function nextCronTime(
  expression: CronExpression,
  zone: TimeZone,
  dst: Schedule['dst'],
  after: number,
): number | null {
  const appointment = !expression.hour.star;
  const once = appointment && dst.overlap === 'once';
  const afterGap = appointment && dst.gap === 'run_after';
  let from = after + 1;
  let changedAt = after;
  let offset = zone.offsetAt(after);
  for (;;) {
    const unread = once ? Math.max(from + offset, zone.readBefore(from)) : from + offset;
    const reading = nextReading(expression, unread);
    if (reading === null) return null;
    const change = zone.nextTransition(changedAt, reading - offset);
    if (change === null) return reading - offset;
    if (afterGap && reading < change.at + change.after) return change.at;
    from = change.at;
    changedAt = change.at;
    offset = change.after;
  }
}
