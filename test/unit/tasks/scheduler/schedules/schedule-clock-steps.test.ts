import t from 'tap';
import { Firing, MINUTE } from '../../../../support/tasks/firing.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const START = '2026-03-01T10:00:30Z';
const test = testsOf(t => Firing.running(t, START));
const FIRST = Date.parse('2026-03-01T10:01:00Z');
const HOUR = 60 * MINUTE;
const ALL = { mode: 'all', windowMs: 24 * HOUR, max: 500 } as const;

for (const [how, aheadMs] of [
  ['back', -20 * MINUTE],
  ['forward', 20 * MINUTE],
] as const) {
  t.test(`with the clock of a process set ${how}, schedules fire by the clock of the store`, async t => {
    const firing = await Firing.running(t, START);
    firing.aheadMs = aheadMs;
    const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
    firing.signals.tell('scheduleDue', 'acme', id, FIRST);
    await firing.pass(29_750, 250);
    t.same(await firing.fired(id), [], 'not early');
    await firing.pass(250 + 2 * MINUTE, 250);
    t.same(await firing.fired(id), ['10:01:00', '10:02:00', '10:03:00']);
    for (const { runAt, scheduledFor } of await firing.tasks(id)) {
      t.equal(runAt, scheduledFor, 'and their tasks may start at once');
    }
  });
}

test('with the clock set back while no process runs, no time fires twice', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow', catchUp: ALL });
  await firing.pass(30_000 + 4 * MINUTE, 1_000);
  const before = await firing.fired(id);
  t.equal(before.length, 5);
  await firing.stop();
  firing.clock.jump(-30 * MINUTE);
  firing.add(1);
  await firing.done();
  await firing.pass(30 * MINUTE, 1_000);
  t.same(await firing.fired(id), before, 'it stands still for as long as the step');
  await firing.pass(2 * MINUTE, 1_000);
  t.same((await firing.fired(id)).sort(), [...before, '10:06:00', '10:07:00']);
});

test('with the clock set forward, missed times are made up for as after an outage', async (firing, t) => {
  const all = await firing.schedule({ nextAt: FIRST, overlap: 'allow', catchUp: ALL });
  const latest = await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
  await firing.pass(30_000, 1_000);
  firing.clock.jump(10 * MINUTE);
  await firing.pass(MINUTE, 1_000);
  const times = await firing.fired(all);
  t.equal(new Set(times).size, times.length);
  t.equal(times.length, 12);
  t.same(await firing.fired(latest), ['10:01:00', '10:11:00', '10:12:00']);
});

test('a pause that ends by itself after the clock was set back does not repeat a time', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
  await firing.pass(30_000 + 9 * MINUTE, 1_000);
  const before = await firing.fired(id);
  t.equal(before.length, 10);
  await firing.stop();
  firing.clock.jump(-5 * MINUTE);
  await firing.change(id, { paused: true, resumeAt: firing.clock.nowMs() + 10_000 });
  firing.add(1);
  await firing.pass(20_000, 1_000);
  t.match((await firing.read(id)).body, { paused: false, nextAt: FIRST + 10 * MINUTE });
  await firing.pass(6 * MINUTE, 1_000);
  t.same((await firing.fired(id)).sort(), [...before, '10:11:00']);
});
