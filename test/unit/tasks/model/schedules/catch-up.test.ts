import t from 'tap';
import { dueTimes } from '../../../../../src/tasks/model/schedules/schedule-times.ts';

const MINUTE = 60_000;
/** Every minute: 0, 60 000, … */
const minutes = { next: (after: number) => Math.floor(after / MINUTE + 1) * MINUTE };
const HOUR_LATEST = { mode: 'latest', windowMs: 60 * MINUTE, max: 100 } as const;

t.test('what comes in time fires, in every mode', async t => {
  for (const mode of ['none', 'latest', 'all'] as const) {
    const due = dueTimes(minutes, { ...HOUR_LATEST, mode }, 10 * MINUTE, 10 * MINUTE + 250);
    t.same(due, { fire: [10 * MINUTE], skipped: 0 }, mode);
  }
});

t.test('latest: one run for all that was missed', async t => {
  t.same(dueTimes(minutes, HOUR_LATEST, 10 * MINUTE, 20.5 * MINUTE), { fire: [20 * MINUTE], skipped: 10 });
});

t.test('none: what was missed is left, what is a little late is not', async t => {
  const none = { ...HOUR_LATEST, mode: 'none' } as const;
  t.same(dueTimes(minutes, none, 10 * MINUTE, 20 * MINUTE + 10_000), { fire: [20 * MINUTE], skipped: 10 });
  t.same(dueTimes(minutes, none, 10 * MINUTE, 20 * MINUTE + 10_001), { fire: [], skipped: 11 });
});

t.test('all: a run for each, oldest first', async t => {
  const all = { ...HOUR_LATEST, mode: 'all' } as const;
  t.same(dueTimes(minutes, all, 10 * MINUTE, 13 * MINUTE), {
    fire: [10 * MINUTE, 11 * MINUTE, 12 * MINUTE, 13 * MINUTE],
    skipped: 0,
  });
});

t.test('all: the last ones, up to the maximum', async t => {
  const all = { mode: 'all', windowMs: 60 * MINUTE, max: 2 } as const;
  t.same(dueTimes(minutes, all, 10 * MINUTE, 13 * MINUTE), { fire: [12 * MINUTE, 13 * MINUTE], skipped: 2 });
});

t.test('what is older than the window is left', async t => {
  const all = { mode: 'all', windowMs: 2 * MINUTE, max: 100 } as const;
  t.same(dueTimes(minutes, all, 10 * MINUTE, 13.5 * MINUTE), {
    fire: [12 * MINUTE, 13 * MINUTE],
    skipped: 2,
  });
  // A day is the step, and the window an hour: nothing of yesterday.
  const days = { next: (after: number) => Math.floor(after / 86_400_000 + 1) * 86_400_000 };
  t.same(dueTimes(days, HOUR_LATEST, 0, 7_200_000), { fire: [], skipped: 1 });
  t.same(dueTimes(days, HOUR_LATEST, 0, 3_600_000), { fire: [0], skipped: 0 });
});

t.test('after a long outage the work is bounded, and the last times are still found', async t => {
  let asked = 0;
  const counting = {
    next: (after: number) => {
      asked++;
      return minutes.next(after);
    },
  };
  const year = 365 * 24 * 60 * MINUTE;
  t.same(dueTimes(counting, HOUR_LATEST, 0, year + 1), { fire: [year], skipped: 999 });
  t.ok(asked < 1_100, `${asked} questions`);
  asked = 0;
  const all = { mode: 'all', windowMs: 7 * 24 * 60 * MINUTE, max: 3 } as const;
  t.same(dueTimes(counting, all, 0, year), { fire: [year - 2 * MINUTE, year - MINUTE, year], skipped: 997 });
  t.ok(asked < 1_200, `${asked} questions`);
});

t.test('times that end', async t => {
  const twice = { next: (after: number) => (after < 5 ? 5 : null) };
  t.same(dueTimes(twice, { mode: 'all', windowMs: MINUTE, max: 9 }, 2, 100), { fire: [2, 5], skipped: 0 });
});
