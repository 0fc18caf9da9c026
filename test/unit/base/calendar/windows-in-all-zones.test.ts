import t from 'tap';
import { CalendarWindows } from '../../../../src/base/calendar/calendar-windows.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const FIRST_YEAR = 1995;
const LAST_YEAR = 2045;
const DAY_S = 86_400;
/** Before the start of a window, when it is checked not to have started: also before clocks were set back at midnight. */
const LOOK_BACK_S = [1, 3_570];

type Terms = ConstructorParameters<typeof CalendarWindows>[0];
type Period = Terms['period'];

/** What the clock of a zone shows, as the runtime prints it: seconds since the epoch of a clock of UTC with that reading. */
class PrintedClock {
  readonly #format: Intl.DateTimeFormat;

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  }

  /** The format is `01/31/2026, 23:59:59`. */
  readingAt(second: number): number {
    const shown = this.#format.format(second * 1_000);
    const field = (at: number, length: number) => Number(shown.slice(at, at + length));
    const date = Date.UTC(
      field(6, 4),
      field(0, 2) - 1,
      field(3, 2),
      field(12, 2),
      field(15, 2),
      field(18, 2),
    );
    return date / 1_000;
  }
}

/** Every reading at which a period starts, from day to day through a calendar. */
function* startReadings({ period, starts }: Terms, fromYear: number, toYear: number): Generator<number> {
  const end = Date.UTC(toYear + 1, 0, 1) / 1_000;
  for (let midnight = Date.UTC(fromYear, 0, 1) / 1_000; midnight < end; midnight += DAY_S) {
    const date = new Date(midnight * 1_000);
    if (period === 'day') yield midnight + starts * 3_600;
    else if (startsOn(period, starts, date)) yield midnight;
  }
}

function startsOn(period: Period, starts: number, date: Date): boolean {
  if (period === 'week') return (date.getUTCDay() || 7) === starts;
  const month = date.getUTCMonth() + 1;
  if (period === 'year' && month !== Math.floor(starts / 100)) return false;
  const wanted = period === 'year' ? starts % 100 : starts;
  const isLastDay = new Date(date.getTime() + DAY_S * 1_000).getUTCDate() === 1;
  return date.getUTCDate() === wanted || (isLastDay && date.getUTCDate() < wanted);
}

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function randomStart(random: SeededRandom, period: Period): number {
  if (period === 'day') return random.pick([0, 0, 1, 2, 3, 23, random.below(24)]);
  if (period === 'week') return 1 + random.below(7);
  if (period === 'month') return random.pick([1, 30, 31, 1 + random.below(31)]);
  const month = random.below(12);
  return (month + 1) * 100 + random.pick([1, LONGEST_MONTHS[month], 1 + random.below(LONGEST_MONTHS[month])]);
}

/**
 * Walks through the windows of some years. Each window starts where the one before it ended, at the first moment at which
 * the printed clock shows the next start of the calendar, or something later.
 *
 * @returns the number of windows
 */
function checkedWindows(terms: Terms, fromYear: number, toYear: number, random: SeededRandom): number {
  const clock = new PrintedClock(terms.zone);
  const walked = new CalendarWindows(terms);
  const asked = new CalendarWindows(terms);
  const expect = (holds: boolean, what: string) => {
    if (!holds) {
      const window = [walked.startS, walked.endS].map(second => new Date(second * 1_000).toISOString());
      throw new Error(`${JSON.stringify(terms)} ${window}: ${what}`);
    }
  };
  const readings = [...startReadings(terms, fromYear, toYear)];
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

t.test('in every zone, windows tile some years and start when the clock shows it', async t => {
  const random = new SeededRandom(1_995);
  let windows = 0;
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const year = FIRST_YEAR + random.below(LAST_YEAR - FIRST_YEAR);
    for (const period of ['day', 'week', 'month', 'year'] as const) {
      const terms = { period, zone, starts: randomStart(random, period) };
      const years = period === 'day' ? 0 : 1;
      windows += checkedWindows(terms, year, year + years, random);
    }
  }
  t.ok(windows > 150_000, `${windows} windows`);
});

/** Zones that left out a day, change at midnight, change by other than an hour, or change more than twice a year. */
const UNUSUAL_ZONES = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Caracas',
  'America/Havana',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Troll',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
];

t.test('in unusual zones, windows tile fifty years', async t => {
  const random = new SeededRandom(2_045);
  let windows = 0;
  for (const zone of UNUSUAL_ZONES) {
    for (const period of ['day', 'week', 'month', 'year'] as const) {
      const terms = { period, zone, starts: randomStart(random, period) };
      windows += checkedWindows(terms, FIRST_YEAR, LAST_YEAR, random);
    }
  }
  t.ok(windows > 200_000, `${windows} windows`);
});
