import t from 'tap';
import {
  type NominalTimes,
  nominalTimes,
  runsLeft,
  type ScheduleTiming,
} from '../../../../../src/tasks/model/schedules/schedule-times.ts';

const NOW = Date.parse('2026-03-01T10:00:00Z');

function timing(changes: Partial<ScheduleTiming>): ScheduleTiming {
  const dst = { gap: 'run_after', overlap: 'once' } as const;
  return { cron: null, everyMs: null, phaseMs: 0, timezone: 'UTC', dst, ...changes };
}

function next(changes: Partial<ScheduleTiming>, after: string): string | null {
  const time = (nominalTimes(timing(changes), NOW) as NominalTimes).next(Date.parse(after));
  return time === null ? null : new Date(time).toISOString();
}

t.test('a cron expression fires in the zone of the schedule', async t => {
  t.equal(next({ cron: '0 9 * * *' }, '2026-03-01T10:00:00Z'), '2026-03-02T09:00:00.000Z');
  t.equal(
    next({ cron: '0 9 * * *', timezone: 'Asia/Kolkata' }, '2026-03-01T10:00:00Z'),
    '2026-03-02T03:30:00.000Z',
  );
});

t.test('every counts from the epoch and the phase, whenever it was begun', async t => {
  t.equal(next({ everyMs: 3_600_000 }, '2026-03-01T10:00:00Z'), '2026-03-01T11:00:00.000Z');
  t.equal(next({ everyMs: 3_600_000 }, '2026-03-01T09:59:59.999Z'), '2026-03-01T10:00:00.000Z');
  t.equal(next({ everyMs: 3_600_000, phaseMs: 300_000 }, '2026-03-01T10:00:00Z'), '2026-03-01T10:05:00.000Z');
  t.equal(next({ everyMs: 3_600_000, phaseMs: 300_000 }, '2026-03-01T10:05:00Z'), '2026-03-01T11:05:00.000Z');
  t.equal(next({ everyMs: 90_000 }, '1970-01-01T00:00:00Z'), '1970-01-01T00:01:30.000Z');
});

t.test('a fault names the field', async t => {
  t.same(nominalTimes(timing({ cron: '0 25 * * *' }), NOW), {
    kind: 'fault',
    field: 'cron',
    detail: 'the hour field: "25" is not valid: use values from 0 to 23',
  });
  t.same(nominalTimes(timing({ cron: '0 0 30 2 *' }), NOW), {
    kind: 'fault',
    field: 'cron',
    detail: '"0 0 30 2 *" never matches: no month has this day',
  });
  for (const timezone of ['Europe/Bonn', '', '+05:30', 'Local', '../etc/passwd', `UTC${' '.repeat(100)}`]) {
    t.match(
      nominalTimes(timing({ everyMs: 60_000, timezone }), NOW),
      {
        kind: 'fault',
        field: 'timezone',
        detail: /^".*" is not a known time zone: use the IANA name of a time zone/,
      },
      timezone,
    );
  }
});

t.test('names of zones that are only linked to others are names of zones', async t => {
  for (const timezone of [
    'Asia/Calcutta',
    'Asia/Kolkata',
    'US/Pacific',
    'Etc/GMT+5',
    'EST5EDT',
    'GMT',
    'utc',
  ]) {
    t.equal(nominalTimes(timing({ everyMs: 60_000, timezone }), NOW).kind, 'times', timezone);
  }
});

t.test('times begin with start_at, and end before end_at', async t => {
  const startAt = Date.parse('2026-03-05T09:00:00Z');
  const endAt = Date.parse('2026-03-07T09:00:00Z');
  const cron = '0 9 * * *';
  t.equal(next({ cron, startAt }, '2026-03-01T10:00:00Z'), '2026-03-05T09:00:00.000Z', 'included');
  t.equal(next({ cron, startAt: startAt + 1 }, '2026-03-01T10:00:00Z'), '2026-03-06T09:00:00.000Z');
  t.equal(next({ cron, startAt }, '2026-03-05T09:00:00Z'), '2026-03-06T09:00:00.000Z');
  t.equal(next({ cron, endAt }, '2026-03-06T09:00:00Z'), null, 'excluded');
  t.equal(next({ cron, endAt: endAt + 1 }, '2026-03-06T09:00:00Z'), '2026-03-07T09:00:00.000Z');
  t.equal(next({ cron, startAt, endAt: startAt + 1 }, '2026-03-05T09:00:00Z'), null);
  t.equal(
    next({ everyMs: 3_600_000, startAt: startAt + 60_000 }, '2026-03-01T10:00:00Z'),
    '2026-03-05T10:00:00.000Z',
  );
});

t.test('bounds count in real time, also where the clocks change', async t => {
  const night = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
  // 02:30 does not exist on this day: the run is at 03:00 local time, which is 01:00 UTC.
  const moved = Date.parse('2026-03-29T01:00:00Z');
  t.equal(next({ ...night, startAt: moved }, '2026-03-28T12:00:00Z'), '2026-03-29T01:00:00.000Z');
  t.equal(next({ ...night, startAt: moved + 1 }, '2026-03-28T12:00:00Z'), '2026-03-30T00:30:00.000Z');
  t.equal(next({ ...night, endAt: moved }, '2026-03-28T12:00:00Z'), null);
  // 02:30 comes twice; the second pass is not a time of its own, and a start between the two does not make it one.
  const between = Date.parse('2026-10-25T01:00:00Z');
  t.equal(next({ ...night, startAt: between }, '2026-10-24T12:00:00Z'), '2026-10-26T01:30:00.000Z');
});

t.test('runs that are left are those that the schedule has not had', async t => {
  t.equal(runsLeft({ fired: 7 }), Number.POSITIVE_INFINITY);
  t.equal(runsLeft({ fired: 7, maxRuns: null }), Number.POSITIVE_INFINITY);
  t.equal(runsLeft({ fired: 7, maxRuns: 10 }), 3);
  t.equal(runsLeft({ fired: 7, maxRuns: 5 }), 0, 'also where the number was made smaller');
});
