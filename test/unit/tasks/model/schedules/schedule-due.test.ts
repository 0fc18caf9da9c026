import t from 'tap';
import {
  firesAt,
  type JitteredPattern,
  type NominalTimes,
  patternTimes,
  reachedBy,
  scheduleDueAt,
} from '../../../../../src/tasks/model/schedules/schedule-times.ts';

const HOUR = 3_600_000;
const NOON = Date.parse('2026-03-01T12:00:00Z');
const ID = 'sch_01KJMDF8HG007VQ7WRDYMX37Z7';

function pattern(changes: Partial<JitteredPattern> = {}): JitteredPattern {
  const dst = { gap: 'run_after', overlap: 'once' } as const;
  return { cron: null, everyMs: HOUR, phaseMs: 0, timezone: 'UTC', dst, ...changes };
}

t.test('a schedule is due when it fires, or, while it is paused, when it is to be resumed', async t => {
  const due = (changes: object) =>
    scheduleDueAt(ID, { ...pattern(), paused: false, resumeAt: null, nextAt: 7, ...changes });
  t.equal(due({}), 7);
  t.equal(due({ paused: true, resumeAt: 9 }), 9);
  t.equal(due({ paused: true }), null);
  t.equal(due({ nextAt: null }), null);
  const jittered = { jitterMs: HOUR, nextAt: NOON };
  t.equal(due(jittered), firesAt(ID, pattern({ jitterMs: HOUR }), NOON));
  t.equal(due({ ...jittered, paused: true, resumeAt: 9 }), 9);
});

t.test('without jitter a schedule fires at its nominal times', async t => {
  t.equal(firesAt(ID, pattern(), NOON), NOON);
  t.equal(firesAt(ID, pattern({ jitterMs: 0 }), NOON), NOON);
});

t.test('the delay of a time is always the same, and differs between times and schedules', async t => {
  const hourly = pattern({ jitterMs: HOUR });
  const delays = Array.from(
    { length: 200 },
    (_, at) => firesAt(ID, hourly, NOON + at * HOUR) - NOON - at * HOUR,
  );
  t.same(firesAt(ID, hourly, NOON) - NOON, delays[0]);
  t.equal(new Set(delays).size, 200);
  t.ok(delays.every(delay => delay >= 0 && delay < HOUR));
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  t.ok(Math.abs(mean - HOUR / 2) < HOUR / 8, `spread evenly: ${mean}`);
  t.not(firesAt(`${ID.slice(0, -1)}8`, hourly, NOON), firesAt(ID, hourly, NOON));
});

t.test('a jitter longer than the time between two runs never reaches the next one', async t => {
  for (const schedule of [
    pattern({ everyMs: 10_000, jitterMs: HOUR }),
    pattern({ cron: '*/5 * * * *', everyMs: null, jitterMs: HOUR }),
    // The times around the hour that comes twice.
    pattern({ cron: '*/15 * * * *', everyMs: null, timezone: 'Europe/Berlin', jitterMs: HOUR }),
  ]) {
    const { next } = patternTimes(schedule, NOON) as NominalTimes;
    let nominal = next(Date.parse('2026-10-24T23:00:00Z'))!;
    for (let count = 0; count < 100; count++) {
      const following = next(nominal)!;
      const at = firesAt(ID, schedule, nominal);
      t.ok(nominal <= at && at < following);
      nominal = following;
    }
  }
});

t.test('what has been reached ends before a time that waits for its jitter', async t => {
  const schedule = { ...pattern({ jitterMs: HOUR }), nextAt: NOON };
  const times = patternTimes(schedule, NOON) as NominalTimes;
  const first = firesAt(ID, schedule, NOON);
  t.equal(reachedBy(ID, schedule, times, first - 1), NOON - 1);
  t.equal(reachedBy(ID, schedule, times, first), first);
  const third = NOON + 2 * HOUR;
  t.equal(reachedBy(ID, schedule, times, third), third - 1, 'the two before it are');
  t.equal(reachedBy(ID, { ...schedule, jitterMs: 0 }, times, third), third);
});
