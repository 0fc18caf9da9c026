import { DAY_MS, HOUR_MS, SECOND_MS } from '../clock.ts';
import { LONGEST_CHANGE_MS, TIME_ZONE_ACCEPTED, type TimeZone, timeZone } from './time-zone.ts';

/** Which windows of a calendar, in which time zone. Anything other than the hours of a day starts at midnight. */
export interface CalendarTerms {
  readonly period: 'day' | 'week' | 'month' | 'year';
  /** IANA name of a time zone. */
  readonly zone: string;
  /**
   * When the period starts: the hour of a day (0 to 23), the day of a week (1 for Monday to 7), the day of a month (1 to
   * 31; a shorter month starts on its last day), or month and day of a year as `month * 100 + day` (in a year without a
   * 29 February, 229 is 28 February).
   */
  readonly starts: number;
}

/** Calculates a boundary between two periods. Readings are those of {@link CalendarWindows}, in milliseconds. */
interface Periods {
  /** Number of the period that contains a reading; periods are consecutive. */
  numberOf(reading: number): number;
  /** The reading at which the period with this number starts. */
  startOf(number: number): number;
}

/** The epoch was a Thursday: the Monday of its week was three days before it. */
const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

/**
 * The windows of a calendar: days, weeks, months or years of a time zone. They cover the time without gaps and overlaps.
 *
 * The clock of a zone shows *readings*, which are written as the milliseconds since the epoch at which a clock of UTC
 * shows the same. Clocks are changed, so a reading can be missing or occur twice. A window starts at the first moment at
 * which the clock shows its start or something later, as a schedule of the task service with the default `dst` does:
 *
 * - A start that occurs twice counts the first time. If midnight occurs again an hour later, no window starts then.
 * - A start that is left out is replaced by the first moment after the gap, for example 01:00 in a zone whose clocks are
 *   set forward at midnight.
 * - A day that a zone left out when it crossed the date line has no window. The window before it ends where the window
 *   after it starts.
 */
export class CalendarWindows {
  /** The current window: `[startS, endS)` in seconds since the epoch. Empty before the first {@link moveTo}. */
  startS = 0;
  endS = 0;
  readonly #zone: TimeZone;
  readonly #periods: Periods;

  /** @throws RangeError if there is no such time zone */
  constructor({ period, zone: name, starts }: CalendarTerms) {
    const zone = timeZone(name);
    if (zone === null) {
      throw new RangeError(`${JSON.stringify(name)} is not a known time zone: use ${TIME_ZONE_ACCEPTED}`);
    }
    this.#zone = zone;
    this.#periods = periodsOf(period, starts);
  }

  /** Makes the window that contains a second the current one. This is cheap if it is the current one already. */
  moveTo(nowS: number): void {
    if (nowS >= this.startS && nowS < this.endS) return;
    const number = this.#periods.numberOf(this.#latestReading(nowS * SECOND_MS));
    this.startS = this.#momentOf(this.#periods.startOf(number)) / SECOND_MS;
    this.endS = this.#momentOf(this.#periods.startOf(number + 1)) / SECOND_MS;
  }

  /** The latest reading that the clock has shown by a moment, in whole seconds. */
  #latestReading(ms: number): number {
    return Math.max(ms + this.#zone.offsetAt(ms), this.#zone.readBefore(ms) - SECOND_MS);
  }

  /** The first moment at which the clock shows a reading or a later one. */
  #momentOf(reading: number): number {
    let from = reading - LONGEST_CHANGE_MS;
    let offset = this.#zone.offsetAt(from);
    for (;;) {
      const change = this.#zone.nextTransition(from, reading - offset);
      if (change === null) return reading - offset;
      if (change.at + change.after >= reading) return change.at;
      from = change.at;
      offset = change.after;
    }
  }
}

function periodsOf(period: CalendarTerms['period'], starts: number): Periods {
  switch (period) {
    case 'day':
      return equalPeriods(DAY_MS, starts * HOUR_MS);
    case 'week':
      return equalPeriods(WEEK_MS, FIRST_MONDAY_MS + (starts - 1) * DAY_MS);
    case 'month':
      return unequalPeriods(
        date => date.getUTCFullYear() * 12 + date.getUTCMonth(),
        number => midnightOf(Math.floor(number / 12), number % 12, starts),
      );
    case 'year':
      return unequalPeriods(
        date => date.getUTCFullYear(),
        number => midnightOf(number, Math.floor(starts / 100) - 1, starts % 100),
      );
  }
}

/** Periods of the same length, one of which starts at `first`. */
function equalPeriods(lengthMs: number, first: number): Periods {
  return {
    numberOf: reading => Math.floor((reading - first) / lengthMs),
    startOf: number => first + number * lengthMs,
  };
}

/**
 * Periods that start on a certain day of each month or year.
 *
 * @param numberOf the number of the month or year of a date. Its period starts in it, and can start after the date.
 */
function unequalPeriods(numberOf: (date: Date) => number, startOf: Periods['startOf']): Periods {
  return {
    numberOf: reading => {
      const number = numberOf(new Date(reading));
      return reading < startOf(number) ? number - 1 : number;
    },
    startOf,
  };
}

/** The reading at midnight of a day of a month, or of the last day of a shorter month. Months count from 0. */
function midnightOf(year: number, month: number, day: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, lastDay));
}
