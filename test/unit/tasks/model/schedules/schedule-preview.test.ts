import t from 'tap';
import {
  type PreviewedTime,
  previewTimes,
} from '../../../../../src/tasks/model/schedules/schedule-preview.ts';
import type { ScheduleTiming } from '../../../../../src/tasks/model/schedules/schedule-times.ts';

function shown(timing: Partial<ScheduleTiming>, from: string, count = 3): unknown[] {
  const dst = { gap: 'run_after', overlap: 'once' } as const;
  const whole = { cron: null, everyMs: null, phaseMs: 0, timezone: 'Europe/Berlin', dst, ...timing };
  const times = previewTimes(whole, Date.parse(from), count) as readonly PreviewedTime[];
  return times.map(({ at, offsetMs, note }) => [
    new Date(at).toISOString().slice(0, 16),
    offsetMs / 3_600_000,
    note,
  ]);
}

t.test('the next times come with the offset of the zone, the first moment included', async t => {
  t.same(shown({ cron: '0 9 * * *' }, '2026-03-01T08:00:00Z'), [
    ['2026-03-01T08:00', 1, null],
    ['2026-03-02T08:00', 1, null],
    ['2026-03-03T08:00', 1, null],
  ]);
  t.same(shown({ everyMs: 21_600_000, timezone: 'Asia/Kolkata' }, '2026-03-01T01:00:00Z', 2), [
    ['2026-03-01T06:00', 5.5, null],
    ['2026-03-01T12:00', 5.5, null],
  ]);
});

t.test('a time that the clock leaves out is moved, and noted', async t => {
  t.same(shown({ cron: '30 2 * * *' }, '2026-03-28T00:00:00Z'), [
    ['2026-03-28T01:30', 1, null],
    ['2026-03-29T01:00', 2, 'moved_by_dst'],
    ['2026-03-30T00:30', 2, null],
  ]);
  t.same(
    shown({ cron: '0 3 * * *' }, '2026-03-29T00:00:00Z', 1),
    [['2026-03-29T01:00', 2, null]],
    'a time at the end of the gap is where it always was',
  );
});

t.test('with gap: skip the time after the one that is left out says so', async t => {
  const dst = { gap: 'skip', overlap: 'once' } as const;
  t.same(shown({ cron: '30 2 * * *', dst }, '2026-03-28T00:00:00Z'), [
    ['2026-03-28T01:30', 1, null],
    ['2026-03-30T00:30', 2, 'previous_skipped_by_dst'],
    ['2026-03-31T00:30', 2, null],
  ]);
  const startAt = Date.parse('2026-03-29T12:00:00Z');
  t.same(
    shown({ cron: '30 2 * * *', dst, startAt }, '2026-03-28T00:00:00Z', 1),
    [['2026-03-30T00:30', 2, null]],
    'not if it would have come before the start',
  );
});

t.test('a time that comes twice is noted, once or both times', async t => {
  t.same(shown({ cron: '30 2 * * *' }, '2026-10-24T12:00:00Z', 2), [
    ['2026-10-25T00:30', 2, 'first_of_two'],
    ['2026-10-26T01:30', 1, null],
  ]);
  const dst = { gap: 'run_after', overlap: 'twice' } as const;
  t.same(shown({ cron: '30 2 * * *', dst }, '2026-10-24T12:00:00Z'), [
    ['2026-10-25T00:30', 2, 'first_of_two'],
    ['2026-10-25T01:30', 1, 'second_of_two'],
    ['2026-10-26T01:30', 1, null],
  ]);
});

t.test('what does not depend on the clock has no notes', async t => {
  t.same(shown({ cron: '30 * * * *' }, '2026-10-25T00:00:00Z'), [
    ['2026-10-25T00:30', 2, null],
    ['2026-10-25T01:30', 1, null],
    ['2026-10-25T02:30', 1, null],
  ]);
});

t.test('there are fewer times where the schedule ends, or beyond ten years', async t => {
  const endAt = Date.parse('2026-03-03T00:00:00Z');
  t.equal(shown({ cron: '0 9 * * *', endAt }, '2026-03-01T00:00:00Z', 50).length, 2);
  t.same(shown({ cron: '0 0 29 2 *', timezone: 'UTC' }, '2026-03-01T00:00:00Z', 50), [
    ['2028-02-29T00:00', 0, null],
    ['2032-02-29T00:00', 0, null],
    ['2036-02-29T00:00', 0, null],
  ]);
});
