import t from 'tap';
import { NO_CONTENT } from '../../../../../src/tasks/model/task-content.ts';
import { retryPolicy } from '../../../../support/tasks/factories.ts';
import { Firing, MINUTE, TENANT } from '../../../../support/tasks/firing.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const START = '2026-03-01T10:00:30Z';
const test = testsOf(t => Firing.running(t, START));
/** The first full minute after the start. */
const FIRST = Date.parse('2026-03-01T10:01:00Z');

test('a schedule fires when its time has come, and moves on', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  await firing.pass(29_750, 250);
  t.same(await firing.fired(), []);
  await firing.pass(250);
  t.same(await firing.fired(), ['10:01:00']);
  const { body, dueAt } = await firing.read(id);
  const [task] = await firing.tasks();
  t.match(body, { nextAt: FIRST + MINUTE, fired: 1, lastRun: { scheduledFor: FIRST, taskId: task.id } });
  t.equal(dueAt, FIRST + MINUTE);
  t.same([...firing.counts], [['fired', 1]]);
});

t.test('its task is that of the template, and what that leaves open is the worker’s', async t => {
  const retry = retryPolicy({ maxAttempts: 3, baseMs: 7_000 });
  const firing = await Firing.begun(START, 1, { priority: 'low', timeoutMs: 12_000, retry });
  const plain = await firing.schedule({ nextAt: FIRST });
  const full = await firing.schedule({
    nextAt: FIRST,
    task: {
      ...NO_CONTENT,
      type: 'report.daily',
      payload: '{"a":1}',
      headers: { 'x-a': 'b' },
      priority: 'high',
      timeoutMs: 60_000,
      retry: { maxAttempts: 5 },
      tags: ['nightly'],
      metadata: { team: 'a' },
    },
  });
  await firing.pass(30_000);
  const [first] = await firing.tasks(plain);
  t.match(first, {
    workerId: firing.worker.id,
    worker: 'mailer',
    type: null,
    priority: 'low',
    timeoutMs: 12_000,
    retry,
    status: 'scheduled',
    runAt: FIRST,
    dueAt: FIRST,
    expiresAt: null,
    key: `${plain}@2026-03-01T10:01:00.000Z`,
    scheduleId: plain,
    scheduledFor: FIRST,
    createdBy: { type: 'schedule', id: plain },
  });
  const [second] = await firing.tasks(full);
  t.match(second, {
    type: 'report.daily',
    priority: 'high',
    timeoutMs: 60_000,
    retry: { ...retry, maxAttempts: 5 },
    tags: ['nightly'],
    metadata: { team: 'a' },
  });
  const whole = await firing.store.getWhole(TENANT, second.id);
  t.same(whole?.body, { payload: '{"a":1}', headers: { 'x-a': 'b' }, result: null });
  await firing.stop();
});

test('the process that serves the worker is notified of the task', async (firing, t) => {
  await firing.schedule({ nextAt: FIRST });
  const told: unknown[] = [];
  firing.signals.listen({ taskDue: (...details) => told.push(details) });
  await firing.pass(30_000);
  t.same(told, [[TENANT, firing.worker.id, FIRST]]);
  t.same(await firing.store.wakeups(FIRST, 10), [{ tenant: TENANT, workerId: firing.worker.id, at: FIRST }]);
});

test('the store is asked every 250 ms, and at once when a schedule is due by then', async (firing, t) => {
  t.same(firing.clock.pendingDelaysMs, [250]);
  const before = firing.store.looks;
  await firing.pass(1_000, 250);
  t.equal(firing.store.looks - before, 4);
  const now = firing.clock.nowMs();
  const id = await firing.schedule({ nextAt: now });
  firing.signals.tell('scheduleDue', TENANT, id, now + 1);
  await firing.done();
  t.same(await firing.fired(), [], 'not before');
  firing.signals.tell('scheduleDue', TENANT, id, now);
  await firing.done();
  t.equal((await firing.fired()).length, 1);
  t.same(firing.clock.pendingDelaysMs, [250], 'and one timer is left');
});

test('a signal while it looks makes it look again', async (firing, t) => {
  const now = firing.clock.nowMs();
  const id = await firing.schedule({ nextAt: now, everyMs: 3_600_000 });
  const other = await firing.schedule({ nextAt: null });
  const looks = firing.store.looks;
  firing.signals.tell('scheduleDue', TENANT, id, now);
  firing.signals.tell('scheduleDue', TENANT, other, now);
  await firing.done();
  t.equal(firing.store.looks - looks, 2);
});

test('after a stop nothing is left', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  await firing.stop();
  t.equal(firing.clock.pending, 0);
  firing.signals.tell('scheduleDue', TENANT, id, firing.clock.nowMs());
  await firing.pass(MINUTE);
  t.same(await firing.fired(), []);
  const [firer] = firing.firers;
  await firer.stop();
  await firer.start();
  await firer.start();
  await firing.done();
  t.equal((await firing.fired()).length, 1, 'it can be started again');
  await firer.stop();
  t.equal(firing.clock.pending, 0);
});

test('a stop waits for what is being written', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  await firing.pass(29_750);
  firing.clock.advance(250);
  await firing.stop();
  t.equal((await firing.read(id)).body.fired, 1);
  t.equal(firing.clock.pending, 0);
});

test('documents of workers are handed on', async (firing, t) => {
  const worker = firing.factory.worker({ name: 'other', paused: true, resumeAt: FIRST });
  await firing.store.apply(TENANT, [worker]);
  await firing.pass(30_000);
  t.same(firing.workersDue, [worker.id]);
});

test('a schedule that is paused does not fire, and is resumed when its time has come', async (firing, t) => {
  const id = await firing.schedule({
    nextAt: FIRST,
    paused: true,
    pauseReason: 'holidays',
    resumeAt: FIRST + 5 * MINUTE + 1_000,
  });
  await firing.pass(30_000 + 5 * MINUTE, 10_000);
  t.same(await firing.fired(), []);
  await firing.pass(2_000);
  t.match((await firing.read(id)).body, {
    paused: false,
    pauseReason: null,
    resumeAt: null,
    nextAt: FIRST + 6 * MINUTE,
    skippedWindow: 0,
  });
  await firing.pass(MINUTE, 1_000);
  t.same(await firing.fired(), ['10:07:00'], 'what came during the pause is not made up for');
});

test('a schedule without a next time is not looked at again', async (firing, t) => {
  const id = await firing.schedule({ nextAt: null });
  const put = firing.factory.schedule(firing.worker, (await firing.read(id)).body, {
    id,
    expect: 1,
    dueAt: FIRST,
  });
  await firing.store.apply(TENANT, [put]);
  await firing.pass(30_000);
  t.equal((await firing.read(id)).dueAt, null);
  t.same(await firing.fired(), []);
});

test('many schedules of one minute all fire in it, in a bounded number of writes', async (firing, t) => {
  const count = 600;
  for (let made = 0; made < count; made++) await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
  const looks = firing.store.looks;
  firing.store.creates = 0;
  await firing.pass(30_000);
  t.equal((await firing.tasks()).length, count);
  t.equal(firing.store.creates, 6, 'a hundred at a time');
  t.ok(firing.store.looks - looks <= 4, `${firing.store.looks - looks} looks`);
  t.equal(firing.counts.get('fired'), count);
});
