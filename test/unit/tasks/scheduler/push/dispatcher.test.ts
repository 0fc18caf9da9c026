import t from 'tap';
import { attemptsFor } from '../../../../../src/tasks/scheduler/push/push-slots.ts';
import {
  ACME,
  answered,
  EngineScene,
  NOON,
  OK,
  type Process,
} from '../../../../support/tasks/engine-scene.ts';
import { settlement, taskChange } from '../../../../support/tasks/factories.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => EngineScene.open());
const serving = testsOf(EngineScene.serving);

serving('a task that is due is pushed at once where it was made', async ({ scene, process, worker }, t) => {
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  t.same(process.deliveries.running, [id]);
  t.match(process.deliveries.requests[0], {
    tenant: ACME,
    task: { id, attempt: 1 },
    worker: { name: 'mailer' },
  });
  process.deliveries.answer(id, { ...OK, result: '{"ok":true}' });
  await scene.pass(5);
  t.equal((await scene.get(id)).status, 'succeeded');
  t.same(await scene.events(id), ['created', 'started', 'succeeded']);
  t.equal((await scene.store.getWhole(ACME, id))?.body.result, '{"ok":true}');
});

serving('tasks of others are pushed in a second', async ({ scene, process: { deliveries }, worker }, t) => {
  await scene.pass(300);
  const [id] = await scene.add(worker);
  await scene.pass(1_000);
  t.same(deliveries.running, [id]);
});

serving('a task starts to the millisecond, whoever made it', async ({ scene, process, worker }, t) => {
  for (const heardBy of [undefined, process]) {
    const [id] = await scene.add(worker, 1, { runAt: scene.clock.nowMs() + 5_432 }, { heardBy });
    await scene.pass(5_431, 1);
    t.same(process.deliveries.running, []);
    await scene.pass(1);
    t.same(process.deliveries.running, [id]);
    process.deliveries.answer(id);
    await scene.pass(5);
  }
});

serving('a failed attempt is repeated in time', async ({ scene, process: { deliveries }, worker }, t) => {
  const [id] = await scene.add(worker, 1, { retry: { ...worker.body.retry, jitter: 0 } });
  await scene.pass(1_000);
  deliveries.answer(id, answered(500));
  await scene.pass(4_999);
  t.match(await scene.get(id), { status: 'retry', lastError: { code: 'http_500', httpStatus: 500 } });
  await scene.pass(50);
  t.same(deliveries.running, [id]);
  t.match(deliveries.requests[1].task, { attempt: 2 });
});

/** What others do with the first task of a fifo group while it waits for its next attempt. */
const WAYS_OUT: Readonly<Record<string, (scene: EngineScene, id: string) => Promise<unknown>>> = {
  'is canceled': (scene, id) => scene.store.change(ACME, id, taskChange('cancel')),
  'is paused': (scene, id) => scene.store.change(ACME, id, taskChange('pause')),
  'is deleted': (scene, id) => scene.store.remove(ACME, id, null),
  'is put off': (scene, id) => {
    return scene.store.change(ACME, id, taskChange('update', { runAt: scene.clock.nowMs() + 7_200_000 }));
  },
};
for (const [name, act] of Object.entries(WAYS_OUT)) {
  test(`the next task of a fifo group starts within a second if the first one ${name}`, async (scene, t) => {
    const { deliveries } = await scene.process(t);
    const hour = { baseMs: 3_600_000, maxMs: 3_600_000, jitter: 0 };
    const worker = await scene.worker({ groups: { concurrency: 1, fifo: true } });
    const retry = { ...worker.body.retry, ...hour };
    const [first, second] = await scene.add(worker, 2, { group: 'a', retry });
    await scene.pass(1_000);
    deliveries.answer(first, answered(500));
    await scene.pass(2_000);
    t.same(deliveries.running, [], 'the second task waits behind the first one');
    await act(scene, first);
    await scene.pass(1_000);
    t.same(deliveries.running, [second]);
  });
}

test('no more is claimed than can be delivered', async (scene, t) => {
  const process = await scene.process(t, { slots: 10 });
  const worker = await scene.worker();
  const ids = await scene.add(worker, 25, {}, { heardBy: process });
  await scene.turn();
  t.equal(process.deliveries.running.length, 10);
  t.equal((await scene.statuses(ids)).filter(status => status === 'running').length, 10);
  process.deliveries.answer(ids[0]);
  await scene.turn();
  t.equal(process.deliveries.running.length, 10, 'a slot that is free is used at once');
});

test('a worker at its concurrency gets the next task as soon as the store knows of an end', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ concurrency: 2 });
  const ids = await scene.add(worker, 5, {}, { heardBy: process });
  await scene.turn();
  t.same(process.deliveries.running, ids.slice(0, 2));
  process.deliveries.answer(ids[0]);
  await scene.pass(5);
  t.same(process.deliveries.running, ids.slice(1, 3));
});

test('a tenant at its bound does not make each of its workers ask again and again', async (scene, t) => {
  const process = await scene.process(t, { limits: { inFlight: 3 } });
  const workers = [];
  for (let count = 0; count < 20; count++) workers.push(await scene.worker({ name: `w${count}` }));
  for (const worker of workers) await scene.add(worker, 2, {}, { heardBy: process });
  await scene.turn();
  t.equal(process.deliveries.running.length, 3);
  const before = scene.store.asked.claim;
  process.deliveries.answerAll();
  await scene.pass(10);
  t.equal(process.deliveries.running.length, 3);
  t.ok(scene.store.asked.claim - before <= 8, `${scene.store.asked.claim - before} claims for three slots`);
  for (let count = 0; count < 20; count++) {
    process.deliveries.answerAll();
    await scene.pass(10);
  }
  t.equal(process.deliveries.requests.length, 40, 'all had their turn');
});

test('a rate is kept, and used in full', async (scene, t) => {
  const process = await scene.process(t);
  process.deliveries.reply = () => OK;
  const worker = await scene.worker({ rate: { limit: 10, perMs: 1_000, burst: 1 } });
  await scene.add(worker, 100, {}, { heardBy: process });
  await scene.pass(5_000);
  const { length } = process.deliveries.requests;
  t.ok(length >= 49 && length <= 51, `${length} in five seconds at ten a second`);
});

test('one tenant has at most half of the slots while another waits', async (scene, t) => {
  await scene.store.apply('other', [scene.make.account('other')]);
  const process = await scene.process(t, { slots: 20 });
  const busy = await scene.worker();
  const late = await scene.worker({}, 'other');
  const ids = await scene.add(busy, 100, {}, { heardBy: process });
  await scene.turn();
  t.equal(process.deliveries.running.length, 19, 'all but the reserve while it is alone');
  await scene.add(late, 100, {}, { heardBy: process, tenant: 'other' });
  // Less than the time after which attempts leave their slots.
  for (let round = 0; round < 40; round++) {
    process.deliveries.answer(process.deliveries.running[0]);
    await scene.pass(5);
  }
  const own = process.deliveries.running.filter(id => ids.includes(id)).length;
  t.ok(own >= 9 && own <= 10, `${own} of 20`);
});

for (const processes of [1, 2]) {
  t.test(`receivers that hang keep no tenant from its share, over ${processes} processes`, async t => {
    const scene = await EngineScene.open();
    const all: Process[] = [];
    for (let count = 0; count < processes; count++) all.push(await scene.process(t, { slots: 256 }));
    const add = async (tenant: string, tasks: number) => {
      await scene.store.apply(tenant, [scene.make.account(tenant)]);
      return scene.add(
        await scene.worker({ timeoutMs: 900_000 }, tenant),
        tasks,
        {},
        { tenant, heardBy: all[0] },
      );
    };
    const running = async (ids: readonly string[], tenant: string) =>
      (await scene.statuses(ids, tenant)).filter(status => status === 'running').length;
    for (let hanging = 0; hanging < 20; hanging++) await add(`hanging-${hanging}`, 300);
    await scene.pass(10_000, 100);
    const one = await add('one', 1);
    await scene.pass(1_000, 50);
    t.equal(await running(one, 'one'), 1, 'a task starts within a second');
    const waiting = await Promise.all(
      ['a', 'b', 'c'].map(async name => ({ name, ids: await add(name, 300) })),
    );
    await scene.pass(1_000, 50);
    for (const { name, ids } of waiting) {
      const started = await running(ids, name);
      // 20 that hang, one, and three that wait.
      t.ok(started >= Math.floor(256 / 25), `${name} has ${started}`);
    }
    for (const { deliveries } of all) t.ok(deliveries.most <= attemptsFor(256));
  });
}

test('live secrets are opened for the attempt: signing ones newest first, the newest of each header', async (scene, t) => {
  await scene.store.apply('sealed', [
    scene.make.account('sealed', { dataKey: { masterKeyId: 'm', wrapped: 'w' } }),
  ]);
  const process = await scene.process(t);
  const worker = await scene.worker({}, 'sealed');
  const header = { type: 'header', name: 'X-Key' } as const;
  await scene.store.apply('sealed', [
    scene.make.secret(worker.id, { sealed: 'eno' }),
    scene.make.secret(worker.id, { sealed: 'dlo', ...header }),
    scene.make.secret(worker.id, { sealed: 'revo', expiresAt: NOON }),
    scene.make.secret(worker.id, { sealed: 'owt', expiresAt: NOON + 60_000 }),
    scene.make.secret(worker.id, { sealed: 'wen', ...header }),
    scene.make.secret(worker.id, { sealed: null, type: 'token' }),
  ]);
  await scene.add(worker, 1, {}, { tenant: 'sealed', heardBy: process });
  await scene.turn();
  t.match(process.deliveries.requests[0], { signing: ['two', 'one'], secretHeaders: { 'x-key': 'new' } });
  await scene.store.apply('sealed', [scene.make.secret(worker.id, { sealed: 'eerht' })]);
  process.signals.tell('workerChanged', 'sealed', worker.id);
  await scene.add(worker, 1, {}, { tenant: 'sealed', heardBy: process });
  await scene.turn();
  t.same(process.deliveries.requests[1].signing, ['three', 'two', 'one'], 'a change is heeded at once');
  await scene.pass(60_000, 50);
  await scene.add(worker, 1, {}, { tenant: 'sealed', heardBy: process });
  await scene.turn();
  t.same(process.deliveries.requests[2].signing, ['three', 'one'], 'and the end of its time as well');
  await scene.store.apply('sealed', [scene.make.secret(worker.id, { sealed: 'ruof' })]);
  await scene.pass(2_000, 50);
  await scene.add(worker, 1, {}, { tenant: 'sealed', heardBy: process });
  await scene.turn();
  const { signing } = process.deliveries.requests[3];
  t.same(signing, ['four', 'three', 'one'], 'a change by another process is heeded after two seconds');
});

test('nothing leaves unsigned: a worker whose secret does not open is left alone', async (scene, t) => {
  await scene.store.apply('sealed', [
    scene.make.account('sealed', { dataKey: { masterKeyId: 'm', wrapped: 'w' } }),
  ]);
  const process = await scene.process(t);
  const worker = await scene.worker({}, 'sealed');
  await scene.store.apply('sealed', [scene.make.secret(worker.id, { sealed: 'broken-value' })]);
  const [id] = await scene.add(worker, 1, {}, { tenant: 'sealed', heardBy: process });
  await scene.pass(2_000);
  t.same(process.deliveries.requests, []);
  t.equal((await scene.get(id, 'sealed')).status, 'scheduled');
  t.match(process.logger.messages('error'), [/secret cannot be decrypted/i]);
  t.notMatch(JSON.stringify(process.logger.lines), 'broken-value');
});

serving('a task that is canceled here is ended at once', async ({ scene, process, worker }, t) => {
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  await scene.store.change(ACME, id, taskChange('cancel'));
  process.signals.tell('cancelRequested', ACME, id);
  await scene.pass(5);
  t.same(process.deliveries.running, []);
  t.same(await scene.events(id), ['created', 'started', 'cancel_requested', 'canceled']);
});

serving('a cancel elsewhere ends it in a second', async ({ scene, process: { deliveries }, worker }, t) => {
  const [id, other] = await scene.add(worker, 2);
  await scene.pass(3_000);
  await scene.store.change(ACME, id, taskChange('cancel'));
  await scene.pass(1_010);
  t.same(deliveries.running, [other]);
  t.equal((await scene.get(id)).status, 'canceled');
});

test('running tasks are not read while no attempt lasts', async (scene, t) => {
  const { deliveries } = await scene.process(t);
  deliveries.reply = () => OK;
  await scene.add(await scene.worker(), 10);
  await scene.pass(5_000);
  t.equal(scene.store.asked.list, 0);
});

serving('a worker that answers 410 is paused, and its tasks wait', async ({ scene, process, worker }, t) => {
  const [gone] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  process.deliveries.answer(gone, answered(410));
  await scene.pass(10);
  t.equal((await scene.get(gone)).status, 'failed');
  t.match(await scene.workerBody(worker.id), {
    paused: true,
    pauseReason: 'the worker answered 410 Gone',
    resumeAt: null,
  });
  const [waiting] = await scene.add(worker, 1, {}, { heardBy: process });
  const claims = scene.store.asked.claim;
  await scene.pass(25_000, 50);
  t.equal(scene.store.asked.claim, claims, 'nothing is claimed for it');
  t.ok(scene.store.asked.setWakeup <= 4, 'and its hint is moved away for seconds');
  await scene.change(worker, { paused: false, pauseReason: null }, process);
  await scene.turn();
  t.same(process.deliveries.running, [waiting], 'at once');
});

serving('a pause elsewhere is heeded in a second', async ({ scene, process: { deliveries }, worker }, t) => {
  await scene.add(worker);
  await scene.pass(1_000);
  await scene.change(worker, { paused: true });
  await scene.pass(1_010);
  await scene.add(worker);
  await scene.pass(3_000);
  t.equal(deliveries.requests.length, 1);
});

test('a paused worker whose time to resume has come goes on at once', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ paused: true, resumeAt: NOON + 7_000 });
  const [id] = await scene.add(worker);
  await scene.pass(6_990);
  t.same(process.deliveries.requests, []);
  await scene.pass(10);
  t.equal((await scene.store.dueDocuments(10)).length, 1);
  await process.workerDue(ACME, worker.id);
  await process.workerDue(ACME, worker.id);
  await scene.turn();
  t.same(process.deliveries.running, [id]);
  t.match(await scene.workerBody(worker.id), { paused: false, resumeAt: null });
  t.same(await scene.store.dueDocuments(10), [], 'and is not due any more');
});

test('a worker that only fails is paused after the time that it allows', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ autoPauseAfterMs: 60_000 });
  const attempt = async (status: number) => {
    const [id] = await scene.add(worker, 1, {}, { heardBy: process });
    await scene.turn();
    process.deliveries.answer(id, answered(status));
    await scene.pass(10);
    return (await scene.workerBody(worker.id)).paused;
  };
  const retry = { ...worker.body.retry, maxAttempts: 1 };
  await scene.change(worker, { retry }, process);
  t.equal(await attempt(500), false);
  await scene.pass(50_000, 100);
  t.equal(await attempt(200), false, 'a success begins anew');
  t.equal(await attempt(500), false);
  process.deliveries.reply = () => answered(500);
  await scene.pass(59_000, 100);
  process.deliveries.reply = () => null;
  t.equal((await scene.workerBody(worker.id)).paused, false);
  await scene.pass(2_000, 100);
  t.equal(await attempt(500), true);
  t.match((await scene.workerBody(worker.id)).pauseReason, /^only failures since 2026-03-01T12:00:5\d/);
});

test('a worker is not paused for failures here while it does well elsewhere', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ autoPauseAfterMs: 60_000 });
  const [first] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.turn();
  process.deliveries.answer(first, answered(500));
  await scene.pass(10);
  const elsewhere = await scene.add(worker);
  const claim = await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 1));
  t.same(
    claim.tasks.map(({ task }) => task.id),
    elsewhere,
  );
  await scene.store.settle(ACME, [settlement(claim.tasks[0].leaseId, 'succeeded')]);
  process.deliveries.reply = () => answered(500);
  await scene.pass(70_000, 100);
  t.ok(process.deliveries.requests.length > 2);
  t.equal((await scene.workerBody(worker.id)).paused, false);
});

serving('nothing is dispatched for a suspended account', async ({ scene, process, worker }, t) => {
  const account = scene.make.account(ACME, { status: 'suspended' });
  await scene.store.apply(ACME, [{ ...account, expect: 'any' }]);
  process.directory.changed(ACME);
  const [id] = await scene.add(worker, 1, {}, { heardBy: process });
  await scene.pass(3_000);
  t.same(process.deliveries.requests, []);
  await scene.store.apply(ACME, [{ ...account, expect: 'any', body: { ...account.body, status: 'active' } }]);
  process.directory.changed(ACME);
  process.signals.tell('accountChanged', ACME);
  await scene.turn();
  t.same(process.deliveries.running, [id]);
});

test('what ends within 5 ms is settled together, and 64 pieces at once', async (scene, t) => {
  const process = await scene.process(t, { slots: 100 });
  const worker = await scene.worker();
  const ids = await scene.add(worker, 70, {}, { heardBy: process });
  await scene.turn();
  const answerSome = (from: number, to: number) => {
    for (const id of ids.slice(from, to)) process.deliveries.answer(id);
  };
  answerSome(0, 3);
  await scene.turn();
  answerSome(3, 5);
  await scene.pass(4, 1);
  t.same(scene.store.settled, []);
  await scene.pass(1);
  t.same(scene.store.settled, [5]);
  answerSome(5, 70);
  await scene.turn();
  t.same(scene.store.settled, [5, 64], 'a full batch does not wait');
  await scene.pass(5);
  t.same(scene.store.settled, [5, 64, 1]);
});

serving('an idle process asks the store once a second', async ({ scene, process, worker }, t) => {
  await scene.add(worker, 1, { runAt: NOON + 3_600_000 }, { heardBy: process });
  await scene.pass(60_000, 100);
  t.ok(scene.store.asked.wakeups <= 61, `${scene.store.asked.wakeups} looks`);
  t.equal(scene.store.asked.claim, 0);
});

for (const [how, status] of [
  ['says that the worker is gone', 410],
  ['is one more of its failures', 500],
] as const) {
  t.test(`an attempt from before a worker was changed, which ${how}, does not pause it again`, async t => {
    const scene = await EngineScene.open();
    const process = await scene.process(t);
    const worker = await scene.worker({ autoPauseAfterMs: 60_000 });
    const retry = { ...worker.body.retry, maxAttempts: 1 };
    const [, slow] = await scene.add(worker, 2, { retry, timeoutMs: 900_000 }, { heardBy: process });
    await scene.turn();
    process.deliveries.answer(process.deliveries.running[0], answered(500));
    await scene.pass(70_000, 500);
    const updatedAt = scene.clock.nowMs();
    await scene.change(worker, { url: 'https://new.example.com/', updatedAt }, process);
    process.deliveries.answer(slow, answered(status));
    await scene.pass(1_000, 50);
    t.match(await scene.workerBody(worker.id), { paused: false, url: 'https://new.example.com/' });
  });
}
