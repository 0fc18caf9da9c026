import t from 'tap';
import { each } from '../../../../support/each.ts';
import { historyQuery } from '../../../../support/tasks/factories.ts';
import { Firing, MINUTE, TENANT } from '../../../../support/tasks/firing.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const START = '2026-03-01T10:00:30Z';
const test = testsOf(t => Firing.running(t, START));
const FIRST = Date.parse('2026-03-01T10:01:00Z');
const ALL = { mode: 'all', windowMs: 3_600_000, max: 100 } as const;

test('skip: while a task of the schedule is open, no other is made', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'skip' });
  const other = await firing.schedule({ nextAt: FIRST, overlap: 'skip' });
  await firing.pass(30_000 + 2 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00']);
  t.same(await firing.fired(other), ['10:01:00'], 'those of others do not matter');
  t.match((await firing.read(id)).body, { fired: 1, skippedOverlap: 2, nextAt: FIRST + 3 * MINUTE });
  await firing.cancel((await firing.tasks(id))[0].id);
  await firing.pass(MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:04:00']);
  t.same(
    [...firing.counts],
    [
      ['fired', 3],
      ['skipped_overlap', 5],
    ],
  );
});

test('allow: tasks are made whatever is open', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
  await firing.pass(30_000 + 2 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00', '10:03:00']);
  t.same(each(await firing.tasks(id), 'heldBy'), [null, null, null]);
});

test('queue_one: one runs, one waits for it, and further ones are not made', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'queue_one' });
  await firing.pass(30_000);
  const running = await firing.run();
  await firing.pass(3 * MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00']);
  const [, waiting] = await firing.tasks(id);
  t.match(waiting, { heldBy: running, dueAt: null });
  t.match((await firing.read(id)).body, { fired: 2, skippedOverlap: 2 });
  await firing.cancel(waiting.id);
  await firing.pass(MINUTE, 1_000);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00', '10:05:00']);
});

test('queue_one: of several times at once the first runs and the second waits', async (firing, t) => {
  await firing.stop();
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'queue_one', catchUp: ALL });
  await firing.pass(5 * MINUTE);
  await firing.firers[0].start();
  await firing.done();
  await firing.pass(250);
  t.same(await firing.fired(id), ['10:01:00', '10:02:00']);
  const [first, second] = await firing.tasks(id);
  t.equal(second.heldBy, first.id);
  t.match((await firing.read(id)).body, {
    fired: 2,
    skippedOverlap: 3,
    skippedWindow: 0,
    nextAt: FIRST + 5 * MINUTE,
  });
});

test('cancel_running: what is open is canceled, and the new task waits until it has ended', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'cancel_running' });
  await firing.pass(30_000);
  const running = await firing.run();
  const asked: string[] = [];
  firing.signals.listen({ cancelRequested: (_tenant, taskId) => asked.push(taskId) });
  await firing.pass(MINUTE);
  const [first, second] = await firing.tasks(id);
  t.equal(first.id, running);
  t.ok(first.cancelRequestedAt !== null);
  t.same(asked, [running]);
  t.equal(second.heldBy, running);
  await firing.pass(MINUTE);
  const third = (await firing.tasks(id))[2];
  t.equal(
    (await firing.store.get(TENANT, second.id))?.status,
    'canceled',
    'it had not begun: it ends at once',
  );
  t.equal(third.heldBy, running);
  const history = await firing.store.history(TENANT, second.id, historyQuery());
  t.same(
    history?.map(({ event, actor }) => [event, actor]),
    [
      ['created', { type: 'schedule', id }],
      ['canceled', { type: 'schedule', id }],
    ],
  );
  t.match((await firing.read(id)).body, { fired: 3, skippedOverlap: 0 });
});

test('cancel_running: of several times at once only the last is made', async (firing, t) => {
  await firing.stop();
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'cancel_running', catchUp: ALL });
  await firing.pass(5 * MINUTE);
  await firing.firers[0].start();
  await firing.done();
  t.same(await firing.fired(id), ['10:05:00']);
  t.match((await firing.read(id)).body, { fired: 1, skippedOverlap: 4 });
});

t.test('what was missed during an outage is made up for as the schedule says', async t => {
  for (const { mode, times, skipped } of [
    { mode: 'none', times: [], skipped: 4 },
    { mode: 'latest', times: ['10:04:00'], skipped: 3 },
    { mode: 'all', times: ['10:02:00', '10:03:00', '10:04:00'], skipped: 1 },
  ] as const) {
    const firing = await Firing.begun(START);
    await firing.stop();
    const id = await firing.schedule({
      nextAt: FIRST,
      overlap: 'allow',
      catchUp: { mode, windowMs: 150_000, max: 100 },
    });
    await firing.pass(4 * MINUTE);
    await firing.firers[0].start();
    await firing.done();
    t.same(await firing.fired(id), times, mode);
    t.match(
      (await firing.read(id)).body,
      { fired: times.length, skippedWindow: skipped, skippedOverlap: 0, nextAt: FIRST + 4 * MINUTE },
      mode,
    );
    t.equal(firing.counts.get('skipped_window'), skipped, mode);
    await firing.stop();
  }
});

t.test('a wall-clock schedule goes over the change of the clocks', async t => {
  const firing = await Firing.begun('2026-03-28T22:00:00Z');
  const id = await firing.schedule({
    cron: '30 2 * * *',
    everyMs: null,
    timezone: 'Europe/Berlin',
    overlap: 'allow',
    nextAt: Date.parse('2026-03-29T01:00:00Z'),
  });
  await firing.pass(26 * 60 * MINUTE + 40 * MINUTE, 5 * MINUTE);
  t.same(await firing.fired(id), ['01:00:00', '00:30:00']);
  await firing.stop();
});
