import t from 'tap';
import { CalendarWindows } from '../../../../src/base/calendar/calendar-windows.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const FIRST_YEAR = 1995;
const LAST_YEAR = 2045;
const DAY_S = 86_400;
/** Before the start of a window, when it is checked not to have started: also before clocks were set back at midnight. */
const LOOK_BACK_S = [1, 3_570];
/** Days before and after a change of the clock whose windows are checked one by one. */
const DAYS_AROUND = 2;

const LONG_PERIODS = ['week', 'month', 'year'] as const;

type Terms = ConstructorParameters<typeof CalendarWindows>[0];
type LongPeriod = (typeof LONG_PERIODS)[number];

/** Clocks are looked at this often. Nowhere were they changed and changed back sooner than after a week (Recife, 2000). */
const LOOK_S = 5 * DAY_S;
const FIRST_LOOK_S = secondOf(FIRST_YEAR - 1);
const LAST_LOOK_S = secondOf(LAST_YEAR + 3);
/** Seconds at which clocks of zones were changed, by the look before them. Many zones change at the same second. */
const knownChanges = new Map<number, number[]>();

function secondOf(year: number): number {
  return Date.UTC(year, 0, 1) / 1_000;
}

/**
 * What the clock of a zone shows, as the runtime prints it: seconds since the epoch of a clock of UTC with that reading.
 * Few seconds are printed: those that find every change of the clock.
 */
class PrintedClock {
  /** The seconds at which the clock is changed. Before the first one, the table begins. */
  readonly changes: readonly number[];
  readonly #offsets: readonly number[];
  readonly #format: Intl.DateTimeFormat;

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    const changes: number[] = [];
    const offsets = [this.#printedOffset(FIRST_LOOK_S)];
    for (let look = FIRST_LOOK_S; look < LAST_LOOK_S; look += LOOK_S) {
      const after = this.#printedOffset(look + LOOK_S);
      if (after === offsets[offsets.length - 1]) continue;
      changes.push(this.#changeAfter(look, offsets[offsets.length - 1], after));
      offsets.push(after);
    }
    this.changes = changes;
    this.#offsets = offsets;
  }

  readingAt(second: number): number {
    let low = 0;
    let high = this.changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.changes[middle] <= second) low = middle + 1;
      else high = middle;
    }
    return second + this.#offsets[low];
  }

  /** The same for clocks that have always shown the same. */
  get history(): string {
    return `${this.changes} ${this.#offsets}`;
  }

  #changeAfter(look: number, before: number, after: number): number {
    const known = knownChanges.get(look) ?? [];
    knownChanges.set(look, known);
    const isChange = (second: number) =>
      this.#printedOffset(second - 1) === before && this.#printedOffset(second) === after;
    const same = known.find(isChange);
    if (same !== undefined) return same;
    let low = look;
    let high = look + LOOK_S;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#printedOffset(middle) === before) low = middle;
      else high = middle;
    }
    known.push(high);
    return high;
  }

  /** The format is `31, 23:59`. Since 1972, clocks differ from UTC by whole minutes, and show its day or one next to it. */
  #printedOffset(second: number): number {
    const shown = this.#format.format(second * 1_000);
    const field = (at: number) => Number(shown.slice(at, at + 2));
    const days = field(0) - new Date(second * 1_000).getUTCDate();
    const day = Math.abs(days) > 1 ? -Math.sign(days) : days;
    const minuteOfDay = Math.floor((second % DAY_S) / 60);
    return day * DAY_S + (field(4) * 60 + field(7) - minuteOfDay) * 60;
  }
}

/** The zones of the runtime, with those together whose clocks have always shown the same. */
function zonesByClock(): readonly { readonly zones: string[]; readonly clock: PrintedClock }[] {
  const groups = new Map<string, { zones: string[]; clock: PrintedClock }>();
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const clock = new PrintedClock(zone);
    const group = groups.get(clock.history) ?? { zones: [], clock };
    groups.set(clock.history, group);
    group.zones.push(zone);
  }
  return [...groups.values()];
}

const knownReadings = new Map<string, readonly number[]>();

/** The readings at which periods start in a year and the next one, from day to day through a calendar. */
function startReadings(period: LongPeriod, starts: number, year: number): readonly number[] {
  const name = `${period} ${starts} ${year}`;
  const known = knownReadings.get(name);
  if (known !== undefined) return known;
  const readings: number[] = [];
  for (let midnight = secondOf(year); midnight < secondOf(year + 2); midnight += DAY_S) {
    if (startsOn(period, starts, new Date(midnight * 1_000))) readings.push(midnight);
  }
  knownReadings.set(name, readings);
  return readings;
}

function startsOn(period: LongPeriod, starts: number, date: Date): boolean {
  if (period === 'week') return (date.getUTCDay() || 7) === starts;
  const month = date.getUTCMonth() + 1;
  if (period === 'year' && month !== Math.floor(starts / 100)) return false;
  const wanted = period === 'year' ? starts % 100 : starts;
  const isLastDay = new Date(date.getTime() + DAY_S * 1_000).getUTCDate() === 1;
  return date.getUTCDate() === wanted || (isLastDay && date.getUTCDate() < wanted);
}

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function randomStart(random: SeededRandom, period: LongPeriod): number {
  if (period === 'week') return 1 + random.below(7);
  if (period === 'month') return random.pick([1, 30, 31, 1 + random.below(31)]);
  const month = random.below(12);
  return (month + 1) * 100 + random.pick([1, LONGEST_MONTHS[month], 1 + random.below(LONGEST_MONTHS[month])]);
}

/**
 * Walks through windows. Each starts where the one before it ended, at the first moment at which the printed clock shows
 * the next start of the calendar, or something later.
 *
 * @param readings consecutive starts of the calendar
 * @returns the number of windows
 */
function checkedWindows(
  terms: Terms,
  clock: PrintedClock,
  readings: readonly number[],
  random: SeededRandom,
): number {
  const walked = new CalendarWindows(terms);
  const asked = new CalendarWindows(terms);
  const expect = (holds: boolean, what: string) => {
    if (!holds) {
      const window = [walked.startS, walked.endS].map(second => new Date(second * 1_000).toISOString());
      throw new Error(`${JSON.stringify(terms)} ${window}: ${what}`);
    }
  };
  walked.moveTo(readings[0]);
  const firstReading = clock.readingAt(walked.startS);
  let next = readings.findIndex(reading => reading > firstReading);
  let windows = 0;
  for (; next >= 0 && next < readings.length; windows++) {
    const { startS, endS } = walked;
    for (const before of LOOK_BACK_S) {
      const started = clock.readingAt(endS - before) >= readings[next];
      expect(!started, `${before} s before its end the next one has not started`);
    }
    const reading = clock.readingAt(endS);
    expect(reading >= readings[next], 'the next one starts when it ends');
    while (next < readings.length && readings[next] <= reading) next++;
    asked.moveTo(startS + random.below(endS - startS));
    expect(asked.startS === startS && asked.endS === endS, 'any second of a window finds it');
    walked.moveTo(endS);
    expect(walked.startS === endS, 'it starts where the window before it ended');
  }
  return windows;
}

/** Checks the weeks, months and years that start in a year. Each year has starts of its own. */
function checkedPeriods(zone: string, clock: PrintedClock, year: number, random: SeededRandom): number {
  let windows = 0;
  for (const period of LONG_PERIODS) {
    const terms = { period, zone, starts: randomStart(random, period) };
    const readings = startReadings(period, terms.starts, year);
    const nextYear = readings.findIndex(reading => reading >= secondOf(year + 1));
    windows += checkedWindows(terms, clock, readings.slice(0, nextYear + 1), random);
  }
  return windows;
}

/** Checks the days around the changes of the clock in a year, with starts that are left out or occur twice. */
function checkedDays(zone: string, clock: PrintedClock, year: number, random: SeededRandom): number {
  let windows = 0;
  for (const at of clock.changes) {
    if (at < secondOf(year) || at >= secondOf(year + 1)) continue;
    const shown = [clock.readingAt(at - 1), clock.readingAt(at)];
    const midnight = shown[0] - (shown[0] % DAY_S);
    const hours = shown.map(reading => Math.floor((reading % DAY_S) / 3_600));
    for (const starts of new Set([0, ...hours, random.below(24)])) {
      const readings: number[] = [];
      for (let day = -DAYS_AROUND; day <= DAYS_AROUND; day++) {
        readings.push(midnight + day * DAY_S + starts * 3_600);
      }
      windows += checkedWindows({ period: 'day', zone, starts }, clock, readings, random);
    }
  }
  return windows;
}

t.test('in every zone, windows tile fifty years and start when the clock shows it', async t => {
  const random = new SeededRandom(1_995);
  let long = 0;
  let days = 0;
  const check = (zone: string, clock: PrintedClock, year: number) => {
    long += checkedPeriods(zone, clock, year, random);
    days += checkedDays(zone, clock, year, random);
  };
  for (const { zones, clock } of zonesByClock()) {
    // All periods of a year follow each other, because a zone remembers a limited number of years.
    for (let year = FIRST_YEAR; year <= LAST_YEAR; year++) check(zones[0], clock, year);
    // What windows know of a zone is its offsets, which the other zones of the group share.
    for (const zone of zones.slice(1)) check(zone, clock, FIRST_YEAR + random.below(LAST_YEAR - FIRST_YEAR));
  }
  t.ok(long > 600_000, `${long} weeks, months and years`);
  t.ok(days > 50_000, `${days} days`);
});
