import { Fault } from '../../../../../src/base/fault.ts';
import { DEFAULT_TENANT_LIMITS } from '../../../../../src/tasks/model/documents.ts';
import { Signals } from '../../../../../src/tasks/model/signals.ts';
import { reap } from '../../../../../src/tasks/scheduler/upkeep/reaper.ts';
import { purgeAll } from '../../../../../src/tasks/scheduler/upkeep/retention.ts';
import { ACME, EngineScene } from '../../../../support/tasks/engine-scene.ts';
import { settlement } from '../../../../support/tasks/factories.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const running = () => false;

async function open() {
  const scene = await EngineScene.open();
  const worker = await scene.worker();
  const signals = new Signals();
  const told: string[] = [];
  signals.listen({
    roomFor: () => told.push('roomFor'),
    taskDue: (_tenant, _worker, at) => told.push(`taskDue ${at - scene.clock.nowMs()}`),
  });
  const round = () => reap({ store: scene.store, signals, clock: scene.clock, random: () => 0 }, running);
  return { scene, worker, round, told };
}

test('an attempt whose lease is over counts, and waits', async ({ scene, worker, round, told }, t) => {
  const retry = { ...worker.body.retry, jitter: 0.5 };
  const [id] = await scene.add(worker, 1, { retry });
  await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 1));
  scene.clock.advance(44_999);
  await round();
  t.equal((await scene.get(id)).status, 'running');
  scene.clock.advance(1);
  await round();
  t.match(await scene.get(id), {
    status: 'retry',
    attempt: 1,
    dueAt: scene.clock.nowMs() + 5_000,
    lastError: { code: 'lease_expired' },
  });
  t.same(told, ['roomFor', 'taskDue 5000']);
});

test('with no attempt left, or its age over, it has failed', async ({ scene, worker, round }, t) => {
  const { retry } = worker.body;
  const ids = [
    ...(await scene.add(worker, 1, { retry: { ...retry, maxAttempts: 1 } })),
    ...(await scene.add(worker, 1, { retry: { ...retry, maxAgeMs: 46_000 } })),
  ];
  await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 2));
  scene.clock.advance(45_000);
  await round();
  t.same(await scene.statuses(ids), ['failed', 'failed']);
});

test('an attempt asked to stop is canceled when its lease is over', async ({ scene, worker, round }, t) => {
  const [id] = await scene.add(worker);
  await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 1));
  const actor = { type: 'user', id: 'usr_1' } as const;
  await scene.store.change(ACME, id, { action: 'cancel', patch: {}, expectVersion: null, actor });
  scene.clock.advance(45_000);
  await round();
  t.equal((await scene.get(id)).status, 'canceled');
});

test('a task that did not start in time expires', async ({ scene, worker, round }, t) => {
  const [id] = await scene.add(worker, 1, { expiresAt: scene.clock.nowMs() + 1_000 });
  await round();
  t.equal((await scene.get(id)).status, 'scheduled');
  scene.clock.advance(1_000);
  await round();
  t.equal((await scene.get(id)).status, 'expired');
  t.same(await scene.events(id), ['created', 'expired']);
});

test('the next task of a group may start when the first one expires', async ({
  scene,
  worker,
  round,
  told,
}, t) => {
  await scene.add(worker, 1, { group: 'a', expiresAt: scene.clock.nowMs() + 1_000 });
  await scene.add(worker, 1, { group: 'a' });
  scene.clock.advance(1_000);
  await round();
  t.same(told, ['taskDue 0']);
});

test('a round ends all that is overdue; two do nothing twice', async ({ scene, worker, round }, t) => {
  const ids = await scene.add(worker, 500);
  ids.push(...(await scene.add(worker, 300)));
  await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 800));
  scene.clock.advance(45_000);
  await Promise.all([round(), round()]);
  t.same(new Set(await scene.statuses(ids)), new Set(['retry']));
  t.same(new Set(await Promise.all(ids.map(async id => (await scene.events(id)).length))), new Set([3]));
});

test('what is not kept any longer is removed, by the limits of each tenant', async ({ scene, worker }, t) => {
  const day = 86_400_000;
  const account = scene.make.account('brief', { limits: { retainSucceededMs: day } });
  await scene.store.apply('brief', [account]);
  const other = await scene.worker({}, 'brief');
  const ended: Record<string, string[]> = {};
  for (const [tenant, of] of [
    [ACME, worker],
    ['brief', other],
  ] as const) {
    const ids = await scene.add(of, 3, {}, { tenant });
    const { tasks } = await scene.store.claim(tenant, scene.make.claimRequest(of.id, 2));
    await scene.store.settle(tenant, [
      settlement(tasks[0].leaseId, 'succeeded'),
      settlement(tasks[1].leaseId, 'no_retry'),
    ]);
    ended[tenant] = ids;
  }
  const kept = async (tenant: string) =>
    Promise.all(ended[tenant].map(async id => (await scene.store.get(tenant, id)) !== null));
  const pass = async () => {
    const purged = purgeAll(
      {
        store: scene.store,
        limits: DEFAULT_TENANT_LIMITS,
        clock: scene.clock,
      },
      running,
    );
    await scene.pass(50);
    await purged;
  };
  scene.clock.advance(2 * day);
  await pass();
  t.same(
    [await kept(ACME), await kept('brief')],
    [
      [true, true, true],
      [false, true, true],
    ],
  );
  scene.clock.advance(6 * day);
  await pass();
  t.same(await kept(ACME), [false, true, true]);
  scene.clock.advance(30 * day);
  await pass();
  t.same(
    [await kept(ACME), await kept('brief')],
    [
      [false, false, true],
      [false, false, true],
    ],
  );
});

test('removal goes in slices, and rests in between', async ({ scene, worker }, t) => {
  for (let count = 0; count < 3; count++) await scene.add(worker, 400);
  const { tasks } = await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 1_200));
  await scene.store.settle(
    ACME,
    tasks.map(({ leaseId }) => settlement(leaseId, 'succeeded')),
  );
  scene.clock.advance(8 * 86_400_000);
  const slices: number[] = [];
  const purge: typeof scene.store.purge = async (tenant, keep, max) => {
    const answer = await scene.store.purge(tenant, keep, max);
    slices.push(answer.tasks);
    return answer;
  };
  const store = { accounts: scene.store.accounts.bind(scene.store), purge };
  const purged = purgeAll({ store, limits: DEFAULT_TENANT_LIMITS, clock: scene.clock }, running);
  await scene.turn();
  t.same(slices, [500], 'the next slice waits');
  await scene.pass(50);
  await purged;
  t.same(slices, [500, 500, 200]);
});

test('removal goes on while anything is left, be it no tasks', async ({ scene }, t) => {
  const answers = [true, true, false].map(more => ({ tasks: 0, more }));
  const asked: number[] = [];
  scene.store.purge = async (_tenant, _keep, max) => {
    asked.push(max);
    return answers.shift()!;
  };
  const parts = { store: scene.store, limits: DEFAULT_TENANT_LIMITS, clock: scene.clock };
  const purged = purgeAll(parts, running);
  await scene.pass(50);
  await purged;
  t.same(asked, [500, 500, 500]);
});

test('where the store fails for one tenant, others’ are ended', async ({ scene, worker, round }, t) => {
  await scene.store.apply('zebra', [scene.make.account('zebra')]);
  const other = await scene.worker({}, 'zebra');
  const [broken] = await scene.add(worker);
  const [id] = await scene.add(other, 1, {}, { tenant: 'zebra' });
  await scene.store.claim(ACME, scene.make.claimRequest(worker.id, 1));
  await scene.store.claim('zebra', scene.make.claimRequest(other.id, 1));
  scene.clock.advance(45_000);
  const { settle } = scene.store;
  scene.store.settle = async (tenant, settlements) => {
    if (tenant === ACME) throw new Fault('store_failed', 'a part of the store is away');
    return settle.call(scene.store, tenant, settlements);
  };
  await t.rejects(round(), /a part of the store is away/);
  t.equal((await scene.get(id, 'zebra')).status, 'retry');
  t.equal((await scene.get(broken)).status, 'running');
});

test('where the store fails for one tenant, others’ are removed', async ({ scene }, t) => {
  await scene.store.apply('zebra', [scene.make.account('zebra')]);
  const purged: string[] = [];
  scene.store.purge = async tenant => {
    if (tenant === ACME) throw new Fault('store_failed', 'a part of the store is away');
    purged.push(tenant);
    return { tasks: 0, more: false };
  };
  const pass = purgeAll({ store: scene.store, limits: DEFAULT_TENANT_LIMITS, clock: scene.clock }, running);
  pass.catch(() => {});
  await scene.pass(50);
  await t.rejects(pass, /a part of the store is away/);
  t.same(purged, ['zebra']);
});

test('many tasks that did not start in time are ended together', async ({ scene, worker, round }, t) => {
  await scene.add(worker, 200, { expiresAt: scene.clock.nowMs() + 1_000 });
  scene.clock.advance(1_000);
  const { change } = scene.store;
  let [now, most] = [0, 0];
  scene.store.change = async (...request) => {
    most = Math.max(most, ++now);
    await scene.turn();
    now--;
    return change.call(scene.store, ...request);
  };
  await round();
  t.ok(most > 1 && most <= 64, `${most} at once`);
});
