import t from 'tap';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { TaskStatistics } from '../../../../src/tasks/model/task-statistics.ts';
import { UsageSum, usageStart } from '../../../../src/tasks/model/usage.ts';
import { measuredStore } from '../../../../src/tasks/store/measured-store.ts';
import { OPERATION_NAMES, storeOf } from '../../../../src/tasks/store/operations.ts';
import { UsageCounts } from '../../../../src/tasks/store/usage-counts.ts';
import { ACME, EngineScene } from '../../../support/tasks/engine-scene.ts';
import { idempotency, settlement, taskChange } from '../../../support/tasks/factories.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(open);

async function open() {
  const scene = await EngineScene.open();
  const stats = new StatsRegistry();
  let nowMs = 0;
  const readMs = () => {
    nowMs += 2;
    return nowMs;
  };
  const usage = new UsageCounts();
  const store = measuredStore(scene.store, { statistics: new TaskStatistics(stats), nowMs: readMs, usage });
  const worker = await scene.worker();
  const totals = () =>
    Object.fromEntries([...stats.counters()].map(([name, total]) => [name.replace('tasks.', ''), total]));
  return { scene, store, usage, stats, worker, totals };
}

test('a task counts as created once, however often asked', async ({ scene, store, worker, totals }, t) => {
  const tasks = [scene.make.newTask(worker), scene.make.newTask(worker, { key: 'k' })];
  const request = scene.make.createRequest(tasks, { idempotency: idempotency('one') });
  await store.create(ACME, request);
  await store.create(ACME, request);
  await store.create(ACME, scene.make.createRequest([scene.make.newTask(worker, { key: 'k' })]));
  t.same(totals(), { created: 2 });
});

test('ends count once, by how they came about', async ({ scene, store, worker, totals }, t) => {
  const ids = await scene.add(worker, 5);
  const { tasks } = await store.claim(ACME, scene.make.claimRequest(worker.id, 4));
  const leases = tasks.map(({ leaseId }) => leaseId);
  await store.change(ACME, ids[1], taskChange('cancel'));
  t.same(totals(), {}, 'a request to cancel is no end');
  await store.settle(ACME, [
    settlement(leases[0], 'succeeded'),
    settlement(leases[0], 'succeeded'),
    settlement(leases[1], 'attempt_failed'),
    settlement(leases[2], 'attempt_failed'),
    settlement('f'.repeat(32), 'succeeded'),
  ]);
  await store.change(ACME, ids[4], taskChange('cancel'));
  t.same(totals(), {
    'attempts.attempt_failed': 1,
    'attempts.canceled': 1,
    'attempts.succeeded': 1,
    'finished.canceled': 2,
    'finished.succeeded': 1,
  });
});

test('what happens is in the usage of tenant and worker', async ({ scene, store, usage, worker }, t) => {
  const { clock, make } = scene;
  const beginning = usageStart('minute', clock.nowMs());
  const retry = { ...worker.body.retry, maxAttempts: 1 };
  const tasks = [0, 0, 0, 0, 0].map(() => make.newTask(worker, { retry }));
  await store.create(ACME, make.createRequest(tasks));
  clock.advance(400);
  const { tasks: started } = await store.claim(ACME, make.claimRequest(worker.id, 4));
  clock.advance(60_000);
  const [good, bad, late, deferred] = started.map(({ leaseId }) => leaseId);
  await store.settle(ACME, [
    settlement(good, 'succeeded'),
    settlement(bad, 'no_retry'),
    settlement(late, 'lease_expired'),
    settlement(deferred, 'deferred'),
  ]);
  await store.change(ACME, tasks[4].task.id, taskChange('cancel'));
  const [{ tenant, increments }, ...others] = usage.take();
  t.same([tenant, others, usage.take()], [ACME, [], []]);
  t.same(
    increments.map(({ at, workerId }) => [at - beginning, workerId]),
    [
      [0, null],
      [0, worker.id],
      [60_000, null],
      [60_000, worker.id],
    ],
  );
  t.strictSame(increments[0].figures, increments[1].figures);
  const first = new UsageSum().addAll(increments[0].figures);
  t.same([first.count('created'), first.count('started')], [5, 4]);
  t.equal(first.percentile('duration', 0.5), null);
  t.ok(Math.abs(first.percentile('lag', 0.5)! - 400) < 80);
  const second = new UsageSum().addAll(increments[3].figures);
  t.same(
    [second.count('succeeded'), second.count('attemptsFailed'), second.count('canceled')],
    [1, 2, 1],
    'a lease that has expired is a failure, a deferral is not',
  );
  t.ok(Math.abs(second.percentile('duration', 0.95)! - 60_000) < 12_000);
});

test('each operation has its times and failures', async ({ scene, store, stats, totals }, t) => {
  await store.now();
  await store.now();
  scene.store.fault = () => 'before';
  await t.rejects(store.wakeups(0, 1), { code: 'store_failed' });
  t.equal(stats.timers().get('tasks.store_op.now')?.count, 2);
  t.equal(stats.timers().get('tasks.store_op.now')?.sumMs, 4);
  t.equal(stats.timers().get('tasks.store_op.wakeups')?.count, 1);
  t.same(totals(), { store_errors: 1 });
});

t.test('every operation goes through to the store', async t => {
  const stats = new StatsRegistry();
  const asked: unknown[] = [];
  const ask = async (...operation: unknown[]) => {
    asked.push(operation);
    return { kind: 'refused', tasks: [], forEach: () => {} } as never;
  };
  const inner = storeOf('memory', { start: async () => {}, stop: async () => {}, ask });
  const store = measuredStore(inner, { statistics: new TaskStatistics(stats), nowMs: () => 0, usage: null });
  for (const name of OPERATION_NAMES)
    await (store[name] as (...args: unknown[]) => Promise<unknown>)('acme', 1);
  t.same(
    asked,
    OPERATION_NAMES.map(name => [name, ['acme', 1]]),
  );
  const timers = [...stats.timers().keys()].filter(timer => timer.startsWith('tasks.store_op.'));
  t.equal(timers.length, OPERATION_NAMES.length);
});
