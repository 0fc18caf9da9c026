import t from 'tap';
import { firesAt } from '../../../../../src/tasks/model/schedules/schedule-times.ts';
import { Firing, MINUTE } from '../../../../support/tasks/firing.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const START = '2026-03-01T10:00:30Z';
const test = testsOf(t => Firing.running(t, START));
const FIRST = Date.parse('2026-03-01T10:01:00Z');
const HOUR = 60 * MINUTE;
const ALL = { mode: 'all', windowMs: 3_600_000, max: 100 } as const;

test('a schedule with an end fires for the times before it, and has no next one then', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow', endAt: FIRST + 2 * MINUTE });
  await firing.pass(5 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00']);
  const { body, dueAt } = await firing.read(id);
  t.match(body, { nextAt: null, fired: 2, paused: false });
  t.equal(dueAt, null);
});

test('times before the end that were missed are made up for after it', async (firing, t) => {
  await firing.stop();
  const id = await firing.schedule({
    nextAt: FIRST,
    overlap: 'allow',
    catchUp: ALL,
    endAt: FIRST + 2 * MINUTE,
  });
  firing.clock.advance(30 * MINUTE);
  firing.add(1);
  await firing.done();
  t.same(await firing.fired(id), ['10:01:00', '10:02:00']);
  t.match((await firing.read(id)).body, { nextAt: null, skippedWindow: 0 });
});

test('a schedule that is resumed does not fire before its start, and not after its end', async (firing, t) => {
  const pause = { nextAt: FIRST, paused: true, resumeAt: FIRST } as const;
  const early = await firing.schedule({ ...pause, startAt: FIRST + 2 * MINUTE });
  const late = await firing.schedule({ ...pause, endAt: FIRST });
  await firing.pass(30_000);
  t.match((await firing.read(early)).body, { paused: false, nextAt: FIRST + 2 * MINUTE });
  t.match((await firing.read(late)).body, { paused: false, nextAt: null });
});

test('with max_runs the schedule ends after its last run', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow', maxRuns: 3 });
  await firing.pass(6 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00', '10:03:00']);
  t.match(await firing.read(id), { dueAt: null, body: { fired: 3, nextAt: null } });
});

test('times without a run leave max_runs as it is', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'skip', maxRuns: 2 });
  await firing.pass(3 * MINUTE, 1_000);
  t.match((await firing.read(id)).body, { fired: 1, skippedOverlap: 2 });
  await firing.cancel((await firing.tasks(id))[0].id);
  await firing.pass(2 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:04:00']);
  t.match((await firing.read(id)).body, { fired: 2, skippedOverlap: 2, nextAt: null });
});

for (const [overlap, expected, skippedOverlap] of [
  ['allow', ['10:01:00', '10:02:00'], 0],
  ['skip', ['10:01:00'], 9],
  ['queue_one', ['10:01:00', '10:02:00'], 0],
  ['cancel_running', ['10:10:00'], 9],
] as const) {
  t.test(`with overlap ${overlap}, no more runs are made up for than are left`, async t => {
    const firing = await Firing.running(t, START);
    await firing.stop();
    const id = await firing.schedule({ nextAt: FIRST, overlap, catchUp: ALL, maxRuns: 2 });
    firing.clock.advance(30_000 + 9 * MINUTE);
    firing.add(1);
    await firing.done();
    t.same(await firing.fired(id), expected);
    const ended = expected.length === 2;
    t.match((await firing.read(id)).body, {
      fired: expected.length,
      skippedOverlap,
      nextAt: ended ? null : FIRST + 10 * MINUTE,
    });
  });
}

test('a schedule whose runs were made fewer than it has had ends at its next time', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow', fired: 5 });
  await firing.change(id, { maxRuns: 5 });
  await firing.pass(2 * MINUTE, 1_000);
  t.same(await firing.fired(id), []);
  t.match(await firing.read(id), { dueAt: null, body: { nextAt: null, fired: 5 } });
});

test('with jitter a run is made later than its nominal time, and named after it', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, jitterMs: HOUR });
  const at = firesAt(id, (await firing.read(id)).body, FIRST);
  t.ok(at > FIRST + 1_000 && at < FIRST + MINUTE, 'the delay that this test is about');
  await firing.pass(at - firing.clock.nowMs() - 250, 250);
  t.same(await firing.fired(id), []);
  await firing.pass(500, 250);
  const [task] = await firing.tasks(id);
  t.match(task, { scheduledFor: FIRST, key: `${id}@2026-03-01T10:01:00.000Z` });
  t.ok(task.runAt >= at, 'it is not earlier than its jitter says');
});

for (const mode of ['none', 'latest', 'all'] as const) {
  t.test(`with catch_up ${mode} and jitter each time has one run, and none is missed`, async t => {
    const firing = await Firing.running(t, START);
    const hour = Date.parse('2026-03-01T11:00:00Z');
    const id = await firing.schedule({
      everyMs: HOUR,
      nextAt: hour,
      jitterMs: HOUR,
      overlap: 'allow',
      catchUp: { mode, windowMs: 10_000, max: 100 },
    });
    await firing.pass(6 * HOUR, 10_000);
    const fired = await firing.fired(id);
    t.same(fired.slice(0, 5), ['11:00:00', '12:00:00', '13:00:00', '14:00:00', '15:00:00']);
    t.match((await firing.read(id)).body, { fired: fired.length, skippedWindow: 0 });
  });
}

test('after an outage, a time that still waits for its jitter is not made up for, but comes', async (firing, t) => {
  await firing.stop();
  const id = await firing.schedule({ nextAt: FIRST, jitterMs: MINUTE, overlap: 'allow', catchUp: ALL });
  const { body } = await firing.read(id);
  const third = FIRST + 2 * MINUTE;
  firing.clock.advance(third - firing.clock.nowMs());
  firing.add(1);
  await firing.done();
  t.same(await firing.fired(id), ['10:01:00', '10:02:00']);
  t.match(await firing.read(id), { dueAt: firesAt(id, body, third), body: { nextAt: third } });
  await firing.pass(MINUTE, 250);
  t.ok((await firing.fired(id)).includes('10:03:00'));
});

test('a schedule that is paused while a time waits for its jitter does not fire for it', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, jitterMs: MINUTE });
  await firing.pass(30_000);
  await firing.change(id, { paused: true });
  await firing.pass(2 * MINUTE, 1_000);
  t.same(await firing.fired(id), []);
});

t.test('where the clocks change, times with jitter stay in their order, and each has one run', async t => {
  const firing = await Firing.begun('2026-10-24T23:50:00Z');
  const id = await firing.schedule({
    cron: '*/30 * * * *',
    everyMs: null,
    timezone: 'Europe/Berlin',
    nextAt: Date.parse('2026-10-25T00:00:00Z'),
    jitterMs: HOUR,
    overlap: 'allow',
  });
  await firing.pass(2.5 * HOUR, 1_000);
  t.same((await firing.fired(id)).slice(0, 4), ['00:00:00', '00:30:00', '01:00:00', '01:30:00']);
  await firing.stop();
});

test('a schedule that was stored without bounds and jitter fires as ever', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  const { body } = await firing.read(id);
  for (const name of ['jitterMs', 'startAt', 'endAt', 'maxRuns']) t.notOk(name in body, name);
  await firing.pass(30_000);
  t.same(await firing.fired(id), ['10:01:00']);
});
