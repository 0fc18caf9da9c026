import t from 'tap';
import { CalendarWindows } from '../../../../src/base/calendar/calendar-windows.ts';

type Terms = ConstructorParameters<typeof CalendarWindows>[0];

/** The window that contains a moment, as two ISO times in UTC without seconds. */
function windowAt(terms: Terms, moment: string): string {
  const windows = new CalendarWindows(terms);
  windows.moveTo(Date.parse(moment) / 1_000);
  return `${text(windows.startS)} ${text(windows.endS)}`;
}

function text(second: number): string {
  return new Date(second * 1_000).toISOString().replace(':00.000Z', 'Z');
}

t.test('a day starts at midnight or at an hour of its zone', async t => {
  const day = { period: 'day', zone: 'Asia/Kolkata', starts: 0 } as const;
  t.equal(windowAt(day, '2026-03-10T18:29:59Z'), '2026-03-09T18:30Z 2026-03-10T18:30Z');
  t.equal(windowAt(day, '2026-03-10T18:30:00Z'), '2026-03-10T18:30Z 2026-03-11T18:30Z');
  t.equal(windowAt({ ...day, starts: 9 }, '2026-03-10T03:29:59Z'), '2026-03-09T03:30Z 2026-03-10T03:30Z');
});

t.test('a week starts on a day from Monday (1) to Sunday (7)', async t => {
  const week = { period: 'week', zone: 'UTC' } as const;
  // 1 April 2026 is a Wednesday.
  const startOf = (starts: number) => windowAt({ ...week, starts }, '2026-04-01T12:00:00Z').slice(0, 10);
  t.same([1, 2, 3].map(startOf), ['2026-03-30', '2026-03-31', '2026-04-01']);
  t.same([4, 5, 6, 7].map(startOf), ['2026-03-26', '2026-03-27', '2026-03-28', '2026-03-29']);
});

t.test('a month starts on a day, and a shorter month on its last day', async t => {
  const month = { period: 'month', zone: 'Europe/Berlin' } as const;
  t.equal(windowAt({ ...month, starts: 1 }, '2026-03-31T22:00:00Z'), '2026-03-31T22:00Z 2026-04-30T22:00Z');
  t.equal(windowAt({ ...month, starts: 15 }, '2026-01-14T22:59:59Z'), '2025-12-14T23:00Z 2026-01-14T23:00Z');
  const last = { period: 'month', zone: 'UTC', starts: 31 } as const;
  t.equal(windowAt(last, '2026-02-10T00:00:00Z'), '2026-01-31T00:00Z 2026-02-28T00:00Z');
  t.equal(windowAt(last, '2026-02-28T00:00:00Z'), '2026-02-28T00:00Z 2026-03-31T00:00Z');
  t.equal(windowAt(last, '2028-02-29T00:00:00Z'), '2028-02-29T00:00Z 2028-03-31T00:00Z');
});

t.test('a year starts on a date, and 29 February is 28 February in other years', async t => {
  const year = { period: 'year', zone: 'UTC' } as const;
  t.equal(windowAt({ ...year, starts: 101 }, '2026-06-01T00:00:00Z'), '2026-01-01T00:00Z 2027-01-01T00:00Z');
  t.equal(windowAt({ ...year, starts: 406 }, '2026-04-05T23:59:59Z'), '2025-04-06T00:00Z 2026-04-06T00:00Z');
  t.equal(windowAt({ ...year, starts: 229 }, '2027-12-01T00:00:00Z'), '2027-02-28T00:00Z 2028-02-29T00:00Z');
  t.equal(windowAt({ ...year, starts: 229 }, '2028-02-29T00:00:00Z'), '2028-02-29T00:00Z 2029-02-28T00:00Z');
});

t.test('a day is an hour shorter or longer when the clocks are changed', async t => {
  const day = { period: 'day', zone: 'Europe/Berlin', starts: 0 } as const;
  t.equal(windowAt(day, '2026-03-29T12:00:00Z'), '2026-03-28T23:00Z 2026-03-29T22:00Z');
  t.equal(windowAt(day, '2026-10-25T12:00:00Z'), '2026-10-24T22:00Z 2026-10-25T23:00Z');
});

t.test('a start that is left out is replaced by the first moment after the gap', async t => {
  // On 29 March the clocks of Berlin go from 02:00 to 03:00.
  const day = { period: 'day', zone: 'Europe/Berlin', starts: 2 } as const;
  t.equal(windowAt(day, '2026-03-29T01:00:00Z'), '2026-03-29T01:00Z 2026-03-30T00:00Z');
  // On 24 April the clocks of Cairo go from 00:00 to 01:00, so there is no midnight.
  const midnight = { period: 'day', zone: 'Africa/Cairo', starts: 0 } as const;
  t.equal(windowAt(midnight, '2026-04-23T21:59:59Z'), '2026-04-22T22:00Z 2026-04-23T22:00Z');
  t.equal(windowAt(midnight, '2026-04-23T22:00:00Z'), '2026-04-23T22:00Z 2026-04-24T21:00Z');
});

t.test('a start that occurs twice counts the first time', async t => {
  // On 25 October the clocks of Berlin go from 03:00 to 02:00.
  const day = { period: 'day', zone: 'Europe/Berlin', starts: 2 } as const;
  t.equal(windowAt(day, '2026-10-25T01:30:00Z'), '2026-10-25T00:00Z 2026-10-26T01:00Z');
  // On 1 November 2026 the clocks of Havana go from 01:00 to 00:00: midnight occurs at 04:00Z and at 05:00Z.
  const midnight = { period: 'month', zone: 'America/Havana', starts: 1 } as const;
  t.equal(windowAt(midnight, '2026-11-01T05:00:00Z'), '2026-11-01T04:00Z 2026-12-01T05:00Z');
  // In 2006 the clocks of St. John's went from 00:01 back to 23:01 of the day before, which had ended by then.
  const back = { period: 'day', zone: 'America/St_Johns', starts: 0 } as const;
  t.equal(windowAt(back, '2006-10-29T02:45:00Z'), '2006-10-29T02:30Z 2006-10-30T03:30Z');
});

t.test('a day that a zone left out at the date line has no window', async t => {
  // Samoa had no 30 December in 2011.
  const day = { period: 'day', zone: 'Pacific/Apia', starts: 0 } as const;
  t.equal(windowAt(day, '2011-12-30T09:59:59Z'), '2011-12-29T10:00Z 2011-12-30T10:00Z');
  t.equal(windowAt(day, '2011-12-30T10:00:00Z'), '2011-12-30T10:00Z 2011-12-31T10:00Z');
  const month = { period: 'month', zone: 'Pacific/Apia', starts: 30 } as const;
  t.equal(windowAt(month, '2011-12-30T10:00:00Z'), '2011-12-30T10:00Z 2012-01-29T10:00Z');
});

t.test('a window is current until it ends, and clocks that are set back find the earlier one', async t => {
  const windows = new CalendarWindows({ period: 'month', zone: 'UTC', starts: 1 });
  const at = (moment: string) => {
    windows.moveTo(Date.parse(moment) / 1_000);
    return text(windows.startS);
  };
  t.equal(at('2026-01-31T23:59:59Z'), '2026-01-01T00:00Z');
  t.equal(at('2026-02-01T00:00:00Z'), '2026-02-01T00:00Z');
  t.equal(at('2026-02-28T23:59:59Z'), '2026-02-01T00:00Z');
  t.equal(at('2026-01-31T23:59:59Z'), '2026-01-01T00:00Z');
  t.equal(at('1969-07-20T20:17:40Z'), '1969-07-01T00:00Z', 'before the epoch');
});

t.test('a zone that does not exist is an error', async t => {
  t.throws(() => new CalendarWindows({ period: 'day', zone: 'Europe/Atlantis', starts: 0 }), {
    message:
      '"Europe/Atlantis" is not a known time zone: use the IANA name of a time zone, such as "Europe/Berlin" or "UTC"',
  });
});
