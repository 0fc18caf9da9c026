import t from 'tap';
import {
  type NominalTimes,
  nominalTimes,
  type ScheduleTiming,
  scheduleDueAt,
} from '../../../../src/tasks/model/schedule-times.ts';

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
    detail: 'the hour field: "25" has no value from 0 to 23',
  });
  t.same(nominalTimes(timing({ cron: '0 0 30 2 *' }), NOW), {
    kind: 'fault',
    field: 'cron',
    detail: '"0 0 30 2 *" never comes: no day has this date',
  });
  for (const timezone of ['Europe/Bonn', '', '+05:30', 'Local', '../etc/passwd', `UTC${' '.repeat(100)}`]) {
    t.match(
      nominalTimes(timing({ everyMs: 60_000, timezone }), NOW),
      {
        kind: 'fault',
        field: 'timezone',
        detail: /^there is no time zone ".*": give the IANA name of a time zone/,
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

t.test('a schedule is due when it fires, or, while it is paused, when it is to be resumed', async t => {
  t.equal(scheduleDueAt({ paused: false, resumeAt: null, nextAt: 7 }), 7);
  t.equal(scheduleDueAt({ paused: true, resumeAt: 9, nextAt: 7 }), 9);
  t.equal(scheduleDueAt({ paused: true, resumeAt: null, nextAt: 7 }), null);
  t.equal(scheduleDueAt({ paused: false, resumeAt: null, nextAt: null }), null);
});
