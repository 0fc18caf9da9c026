import t from 'tap';
import { HOUR_MS } from '../../../../../src/base/clock.ts';
import { Fault } from '../../../../../src/base/fault.ts';
import type { Schedule } from '../../../../../src/tasks/model/documents.ts';
import { each } from '../../../../support/each.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { Firing, MINUTE, TENANT, type WriteFault } from '../../../../support/tasks/firing.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const START = '2026-03-01T10:00:30Z';
const test = testsOf(t => Firing.running(t, START));
const FIRST = Date.parse('2026-03-01T10:01:00Z');
const ALL = { mode: 'all', windowMs: 86_400_000, max: 500 } as const;

test('while the store is away it is asked less and less often, and then nothing is lost', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  firing.store.away = true;
  firing.store.looks = 0;
  await firing.pass(MINUTE, 250);
  t.ok(firing.store.looks < 60, `${firing.store.looks} looks in a minute`);
  const paused = firing.logger.messages('info').filter(text => text.startsWith('Schedules are paused'));
  t.equal(paused.length, 1, 'it says so once');
  t.same(firing.logger.messages('error'), []);
  firing.signals.tell('scheduleDue', TENANT, id, firing.clock.nowMs());
  await firing.done();
  t.equal(firing.clock.pending, 1, 'a signal does not hurry it');
  firing.store.away = false;
  await firing.pass(10_000, 250);
  t.same(await firing.fired(id), ['10:01:00']);
  t.ok(firing.logger.messages('info').includes('Schedules have resumed'));
});

t.test('a write that failed is repeated; one whose answer was lost is not', async t => {
  for (const fault of ['before', 'after'] as const) {
    const firing = await Firing.begun(START);
    const id = await firing.schedule({ nextAt: FIRST });
    firing.store.fault = () => fault;
    await firing.pass(30_000);
    firing.store.fault = () => 'none';
    t.same(await firing.fired(id), fault === 'before' ? [] : ['10:01:00'], fault);
    await firing.pass(5_000, 250);
    t.same(await firing.fired(id), ['10:01:00'], fault);
    t.equal((await firing.read(id)).body.fired, 1, fault);
    await firing.stop();
  }
});

t.test('several processes, whose writes fail at random, make each task once, and every one', async t => {
  const random = new SeededRandom(4_711);
  const firing = await Firing.begun(START, 3);
  const kinds: Partial<Schedule>[] = [
    { everyMs: 20_000 },
    { everyMs: MINUTE },
    { cron: '*/2 * * * *', everyMs: null },
    { cron: '*/15 * * * * *', everyMs: null },
  ];
  const made = new Map<string, number>();
  for (let count = 0; count < 12; count++) {
    const id = await firing.schedule({ nextAt: FIRST, overlap: 'allow', catchUp: ALL, ...kinds[count % 4] });
    made.set(id, count % 4);
  }
  const chance = (): WriteFault => random.pick(['none', 'none', 'before', 'after'] as const);
  firing.store.fault = chance;
  let last = new Map<string, number>();
  for (let minute = 0; minute < 30; minute++) {
    await firing.pass(MINUTE, 250 * (1 + random.below(40)));
    const next = new Map<string, number>();
    for (const id of made.keys()) next.set(id, (await firing.read(id)).body.nextAt!);
    for (const [id, at] of last) if (next.get(id)! < at) t.fail(`${id} went back`);
    last = next;
  }
  firing.store.fault = () => 'none';
  // The longest delay between two attempts.
  await firing.pass(30_000, 250);
  await firing.stop();
  const now = firing.clock.nowMs();
  const steps = [20_000, MINUTE, 2 * MINUTE, 15_000];
  for (const [id, kind] of made) {
    const tasks = await firing.tasks(id);
    const times = tasks.map(({ scheduledFor }) => scheduledFor!).sort((a, b) => a - b);
    const expected: number[] = [];
    // The first is where it was told to begin, the others are where its expression has them.
    for (let at = FIRST; at <= now; at = Math.floor(at / steps[kind] + 1) * steps[kind]) expected.push(at);
    t.same(times, expected, `kind ${kind}`);
    t.equal((await firing.read(id)).body.fired, expected.length);
  }
});

const SECOND = 1_000;

test('while the store takes no writes, everything waits, and no document is to blame', async (firing, t) => {
  for (let count = 0; count < 50; count++) await firing.schedule({ nextAt: FIRST });
  firing.store.isFull = true;
  await firing.pass(30_000);
  firing.store.looks = 0;
  await firing.pass(MINUTE, 250);
  t.ok(firing.store.looks < 60, `${firing.store.looks} looks in a minute`);
  t.same([firing.logger.messages('error'), firing.logger.messages('warning')], [[], []]);
  t.equal(firing.logger.messages('info').filter(text => text.startsWith('Schedules are paused')).length, 1);
  firing.store.isFull = false;
  await firing.pass(10_000, 250);
  t.equal((await firing.fired()).length, 50);
});

for (const code of ['store_failed', 'overloaded'] as const) {
  test(`after a disturbance (${code}), schedules fire soon, and together`, async (firing, t) => {
    for (let count = 0; count < 100; count++) await firing.schedule({ nextAt: FIRST, everyMs: HOUR_MS });
    const { create, apply } = firing.store;
    let isDisturbed = true;
    let creates = 0;
    firing.store.create = async (...request) => {
      creates++;
      if (isDisturbed) throw new Fault(code, 'a disturbance');
      return create.apply(firing.store, request);
    };
    firing.store.apply = async (...request) => {
      if (isDisturbed) throw new Fault(code, 'a disturbance');
      return apply.apply(firing.store, request);
    };
    await firing.pass(30_000);
    await firing.pass(MINUTE, 250);
    if (code === 'overloaded')
      t.ok(creates < 30, `${creates} attempts: a full queue singles out no document`);
    isDisturbed = false;
    creates = 0;
    await firing.pass(5_250, 250);
    t.equal((await firing.fired()).length, 100);
    t.ok(creates <= 40, `${creates} steps`);
  });
}

test('a schedule that cannot be written delays no other one', async (firing, t) => {
  const every = { everyMs: SECOND, overlap: 'allow' } as const;
  const bad = await firing.schedule({ ...every, nextAt: FIRST });
  const good = await firing.schedule({ ...every, nextAt: FIRST });
  const create = firing.store.create.bind(firing.store);
  let tries = 0;
  firing.store.create = async (tenant, request) => {
    const isBad = request.documents?.some(({ id }) => id === bad) ?? false;
    if (isBad) tries++;
    if (isBad) throw new Fault('store_failed', 'invalid byte sequence');
    return create(tenant, request);
  };
  await firing.pass(30_000);
  await firing.pass(MINUTE, 250);
  t.equal((await firing.read(good)).body.fired, 61);
  t.match(firing.logger.lines, [
    {
      level: 'warning',
      fields: { tenant: TENANT, kind: 'schedule', id: bad, reason: 'invalid byte sequence' },
    },
  ]);
  t.ok(tries < 20, `${tries} tries in a minute`);
  firing.store.create = create;
  await firing.pass(30_000, 250);
  t.ok((await firing.read(bad)).body.fired > 0, 'it is tried again');
  t.equal(firing.logger.messages('info').length, 1);
});

test('nor does one that cannot even be put off', async (firing, t) => {
  const every = { everyMs: SECOND, overlap: 'allow' } as const;
  const good: string[] = [];
  for (let count = 0; count < 99; count++) good.push(await firing.schedule({ ...every, nextAt: FIRST }));
  const bad = await firing.schedule({ ...every, nextAt: FIRST });
  const { create, apply } = firing.store;
  let tries = 0;
  const refuse = (documents: readonly { readonly id: string }[] = []) => {
    if (!documents.some(({ id }) => id === bad)) return;
    tries++;
    throw new Fault('store_failed', 'invalid byte sequence');
  };
  firing.store.create = async (tenant, request) => {
    refuse(request.documents);
    return create.call(firing.store, tenant, request);
  };
  firing.store.apply = async (tenant, changes) => {
    refuse(changes);
    return apply.call(firing.store, tenant, changes);
  };
  await firing.pass(30_000);
  await firing.pass(MINUTE, 250);
  for (const id of good) {
    const { fired } = (await firing.read(id)).body;
    if (fired < 60) t.fail(`${id} fired ${fired} of 61 times`);
  }
  t.ok(tries < 60, `${tries} tries in a minute`);
});

t.test('nor do as many as one page of due documents can have', async t => {
  for (const [count, payload] of [
    [500, null],
    [8, 'x'.repeat(200_000)],
  ] as const) {
    const firing = await Firing.begun(START);
    const every = { everyMs: SECOND, overlap: 'allow' } as const;
    const bad = new Set<string>();
    const task = { ...firing.factory.schedule(firing.worker).body.task, payload };
    for (let made = 0; made < count; made++) {
      bad.add(await firing.schedule({ ...every, task, nextAt: FIRST }));
    }
    const good = await firing.schedule({ ...every, nextAt: FIRST + 1 });
    const create = firing.store.create.bind(firing.store);
    firing.store.create = async (tenant, request) => {
      const isBad = request.documents?.some(({ id }) => bad.has(id)) ?? false;
      if (isBad) throw new Fault('store_failed', 'invalid byte sequence');
      return create(tenant, request);
    };
    await firing.pass(2 * MINUTE, 250);
    const [some] = bad;
    t.match((await firing.read(some)).body, { nextAt: FIRST, fired: 0 }, 'their times stay');
    t.ok((await firing.read(good)).body.fired >= 88, `${(await firing.read(good)).body.fired} of 90`);
    firing.store.create = create;
    await firing.pass(31_000, 250);
    for (const id of bad) if ((await firing.read(id)).body.fired === 0) t.fail(`${id} never fired`);
    await firing.stop();
  }
});

test('nor does a document of another kind that cannot be handled', async (firing, t) => {
  const { factory, store } = firing;
  const deletion = { startedAt: FIRST, finishedAt: null };
  const due = { dueAt: FIRST } as const;
  const worker = factory.worker({ paused: true, resumeAt: FIRST });
  await store.apply('globex', [
    factory.account('globex', { status: 'deleting', deletion } as never, due),
    { ...worker, ...due },
  ]);
  firing.resume = async () => {
    throw new Fault('store_failed', 'invalid byte sequence');
  };
  store.fault = tenant => (tenant === 'globex' ? 'before' : 'none');
  const good = await firing.schedule({ everyMs: SECOND, overlap: 'allow', nextAt: FIRST });
  await firing.pass(30_000);
  await firing.pass(MINUTE, 250);
  t.equal((await firing.read(good)).body.fired, 61);
  const lines = firing.logger.lines.map(({ fields }) => [
    fields?.['tenant'],
    fields?.['kind'],
    fields?.['id'],
  ]);
  t.same(new Set(lines.map(String)), new Set([`globex,account,account`, `globex,worker,${worker.id}`]));
  t.equal(lines.length, 2, 'each is told of once');
});

test('a changed schedule is tried at once, however often it has failed', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  firing.store.fault = () => 'before';
  await firing.pass(30_000);
  await firing.pass(10 * MINUTE, 250);
  firing.store.fault = () => 'none';
  await firing.change(id, { overlap: 'allow' });
  await firing.pass(250);
  t.equal((await firing.read(id)).body.fired, 1);
});

test('a person’s change wins over what was about to fire', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  await firing.pass(29_750);
  const create = firing.store.create.bind(firing.store);
  let changed = false;
  firing.store.create = async (...request) => {
    if (!changed) {
      changed = true;
      await firing.change(id, { paused: true, pauseReason: 'by hand' });
    }
    return create(...request);
  };
  await firing.pass(250);
  await firing.pass(MINUTE, 250);
  t.same(await firing.fired(id), []);
  t.match((await firing.read(id)).body, { paused: true, pauseReason: 'by hand', fired: 0 });
});

test('what another process has just fired is not canceled by one that comes late', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, overlap: 'cancel_running' });
  await firing.pass(29_750);
  // Between reading the schedule and looking for open tasks, the other one fires it.
  const open = firing.store.openOfSchedule.bind(firing.store);
  const other = firing.factory.newTask(firing.worker, { scheduleId: id, scheduledFor: FIRST });
  let fired = false;
  firing.store.openOfSchedule = async (...request) => {
    if (!fired) {
      fired = true;
      await firing.store.create(TENANT, firing.factory.createRequest([other]));
      await firing.change(id, { nextAt: FIRST + MINUTE });
    }
    return open(...request);
  };
  await firing.pass(250);
  t.equal((await firing.store.get(TENANT, other.task.id))?.status, 'scheduled');
  t.same(await firing.fired(id), ['10:01:00']);
});

test('a schedule whose worker is gone is paused, and says why', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  const other = await firing.schedule({ nextAt: FIRST, workerId: 'wrk_gone', worker: 'gone' });
  await firing.pass(30_000);
  t.match((await firing.read(other)).body, {
    paused: true,
    pauseReason: 'worker gone no longer exists: choose another worker',
    resumeAt: null,
    fired: 0,
  });
  t.equal((await firing.read(other)).dueAt, null);
  t.same(await firing.fired(), ['10:01:00'], 'the others fire');
  t.match(firing.logger.lines, [
    { level: 'warning', message: 'Schedule paused', fields: { schedule: other } },
  ]);
  t.equal(firing.counts.get('paused'), 1);
  t.equal((await firing.read(id)).body.paused, false);
});

test('a worker that goes in the last moment pauses its schedule only', async (firing, t) => {
  const worker = firing.factory.worker({ name: 'leaving' });
  await firing.store.apply(TENANT, [worker]);
  await firing.schedule({ nextAt: FIRST });
  const id = await firing.schedule({ nextAt: FIRST, workerId: worker.id, worker: 'leaving' });
  await firing.schedule({ nextAt: FIRST });
  const create = firing.store.create.bind(firing.store);
  firing.store.create = async (...request) => {
    await firing.store.apply(TENANT, [{ op: 'delete', kind: 'worker', id: worker.id, expect: 'any' }]);
    return create(...request);
  };
  await firing.pass(30_000);
  t.match((await firing.read(id)).body, { paused: true, fired: 0 });
  t.same(await firing.fired(), ['10:01:00', '10:01:00']);
});

test('a schedule that is not valid any more is paused, and says why', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST, timezone: 'Europe/Bonn' });
  await firing.schedule({ nextAt: FIRST });
  await firing.pass(30_000);
  t.match((await firing.read(id)).body, {
    paused: true,
    pauseReason: /^timezone: "Europe\/Bonn" is not a known time zone/,
  });
  t.same(await firing.fired(), ['10:01:00']);
});

test('over the quota a schedule waits a minute, and then makes up for what it missed', async (firing, t) => {
  const account = await firing.store.getDocument(TENANT, 'account', 'account');
  await firing.store.apply(TENANT, [
    firing.factory.account(TENANT, { ...account!.body, limits: { openTasks: 1 } }, { expect: 'any' }),
  ]);
  const first = await firing.schedule({ nextAt: FIRST, overlap: 'allow' });
  const second = await firing.schedule({ nextAt: FIRST + 1, everyMs: 3_600_000 });
  await firing.pass(30_250);
  t.same(await firing.fired(), ['10:01:00']);
  t.match(await firing.read(second), { dueAt: FIRST + 250 + MINUTE, body: { nextAt: FIRST + 1, fired: 0 } });
  t.equal(firing.counts.get('postponed'), 1);
  await firing.cancel((await firing.tasks(first))[0].id);
  await firing.change(first, { paused: true });
  await firing.pass(MINUTE, 250);
  t.same(each(await firing.tasks(second), 'scheduledFor'), [FIRST + 1]);
});

test('an account that is suspended fires nothing until it is active again', async (firing, t) => {
  const account = await firing.store.getDocument(TENANT, 'account', 'account');
  const put = (status: 'active' | 'suspended') =>
    firing.store.apply(TENANT, [
      firing.factory.account(TENANT, { ...account!.body, status }, { expect: 'any' }),
    ]);
  await put('suspended');
  const id = await firing.schedule({ nextAt: FIRST });
  await firing.pass(5 * MINUTE, 1_000);
  t.same(await firing.fired(), []);
  t.equal((await firing.read(id)).body.nextAt, FIRST);
  await put('active');
  await firing.pass(MINUTE, 1_000);
  t.equal((await firing.fired()).length, 1);
});

test('a schedule that we fail to work out does not keep the others from firing', async (firing, t) => {
  const id = await firing.schedule({ nextAt: FIRST });
  const other = await firing.schedule({ nextAt: FIRST });
  const open = firing.store.openOfSchedule.bind(firing.store);
  firing.store.openOfSchedule = async (tenant, scheduleId, limit) => {
    if (scheduleId === id) throw new TypeError('a defect');
    return open(tenant, scheduleId, limit);
  };
  await firing.pass(30_000);
  t.same(await firing.fired(other), ['10:01:00']);
  t.same(await firing.fired(id), []);
  t.match(firing.logger.lines, [
    {
      level: 'error',
      message:
        'Could not compute the next runs of a schedule (this is a bug; please report it); retrying in a minute',
      fields: { schedule: id, reason: 'a defect' },
    },
  ]);
  t.equal((await firing.read(id)).dueAt, FIRST + MINUTE, 'it is tried again later');
});
