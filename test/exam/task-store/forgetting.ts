import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { idempotency } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const GLOBEX = 'globex';

/** Calls it until nothing is left. Returns the number of calls. */
async function forget(store: TaskStore, tenant: string): Promise<number> {
  let place: string | null = null;
  let calls = 0;
  do {
    place = await store.forgetTenant(tenant, place);
    calls++;
  } while (place !== null && calls < 1_000);
  return calls;
}

export const forgetting: Topic = test => {
  test('what is remembered under keys is forgotten, however much it is', async (scene, t) => {
    const { store } = scene;
    const names = Array.from({ length: 600 }, (_, i) => idempotency(`i${i}`));
    await Promise.all(names.map(name => store.remember(ACME, name)));
    await store.remember(GLOBEX, idempotency('i1'));
    t.equal((await store.recall(ACME, idempotency('i1'))).kind, 'replayed');
    t.ok((await forget(store, ACME)) < 1_000);
    for (let i = 0; i < 600; i += 50) {
      t.equal((await store.recall(ACME, idempotency(`i${i}`))).kind, 'new', `i${i}`);
    }
    t.equal((await store.recall(GLOBEX, idempotency('i1'))).kind, 'replayed', 'of another tenant');
  });

  test('buckets are full and throttles over, documents and other tenants stay', async (scene, t) => {
    const { store, make } = scene;
    await store.apply(GLOBEX, [make.account(GLOBEX), scene.mailer]);
    const bounds = { rate: { limit: 1, perMs: 60_000, burst: 2 }, tenantPerSecond: 3 };
    const spend = async () => {
      await scene.create([scene.newTask(), scene.newTask(), scene.newTask()]);
      const { tasks, blocked } = await scene.claim(3, bounds);
      return { tasks, blocked };
    };
    const first = await spend();
    t.match(first, { tasks: { length: 2 }, blocked: 'rate' });
    const item = scene.newTask();
    await store.create(GLOBEX, make.createRequest([item, scene.newTask(), scene.newTask()]));
    await store.claim(GLOBEX, make.claimRequest(scene.mailer.id, 2, bounds));
    for (const { leaseId } of first.tasks) await scene.end(leaseId, 'no_retry', { throttleMs: 60_000 });
    await scene.clear();
    await forget(store, ACME);
    const again = await spend();
    t.match(again, { tasks: { length: 2 }, blocked: 'rate' });
    for (const { leaseId } of again.tasks) await scene.end(leaseId, 'no_retry');
    t.equal(await store.countDocuments(ACME, 'worker'), 2);
    t.strictSame(await store.tenants(null, 10), [ACME, GLOBEX]);
    t.equal((await store.get(GLOBEX, item.task.id))?.status, 'running');
    t.match(await store.claim(GLOBEX, make.claimRequest(scene.mailer.id, 1, bounds)), { blocked: 'rate' });
  });

  test('a deleted worker leaves no bucket and no throttle, unless the deletion is refused', async (scene, t) => {
    const { store, mailer, make } = scene;
    const bounds = { rate: { limit: 1, perMs: 60_000, burst: 2 } };
    const spend = async () => {
      await scene.create([scene.newTask(), scene.newTask()]);
      const { tasks, blocked } = await scene.claim(2, bounds);
      return { tasks, blocked };
    };
    const deletion = { op: 'delete', kind: 'worker', id: mailer.id, expect: 'any' } as const;
    const { tasks } = await spend();
    t.equal(tasks.length, 2);
    for (const { leaseId } of tasks) await scene.end(leaseId, 'no_retry', { throttleMs: 60_000 });
    await store.apply(ACME, [deletion, { ...deletion, id: make.worker().id }]);
    t.match(await spend(), { tasks: { length: 0 }, blocked: 'throttled' }, 'another change was refused');
    await scene.clear();
    await store.apply(ACME, [deletion]);
    await store.apply(ACME, [mailer]);
    t.match(await spend(), { tasks: { length: 2 } });
  });

  test('a tenant that has tasks keeps everything', async (scene, t) => {
    const { store } = scene;
    await store.remember(ACME, idempotency('i'));
    const { id } = await scene.add({ key: 'k', group: 'g' });
    const keeps = async (status: string) => {
      t.equal(await forget(store, ACME), 1, status);
      t.equal((await scene.get(id)).status, status);
      t.equal((await store.recall(ACME, idempotency('i'))).kind, 'replayed', status);
    };
    await keeps('scheduled');
    const { leaseId } = await scene.startOne();
    await keeps('running');
    await scene.end(leaseId, 'succeeded');
    await keeps('succeeded');
    await scene.clear();
    await forget(store, ACME);
    t.equal((await store.recall(ACME, idempotency('i'))).kind, 'new');
  });

  test('a tenant that is gone can begin again', async (scene, t) => {
    const { store, make } = scene;
    await scene.taskIn('succeeded', { key: 'k', keyTtlMs: 3_600_000 });
    await scene.clear();
    for (const { kind, id } of [scene.mailer, scene.reporter]) {
      await store.apply(ACME, [{ op: 'delete', kind, id, expect: 'any' }]);
    }
    await forget(store, ACME);
    const account = make.account(ACME);
    await store.apply(ACME, [{ op: 'delete', kind: 'account', id: account.id, expect: 'any' }]);
    t.strictSame(await store.tenants(null, 10), []);
    await store.apply(GLOBEX, [make.account(GLOBEX), make.worker({ name: 'other' })]);
    await store.apply(ACME, [account, scene.mailer]);
    const { id } = await scene.add({ key: 'k' });
    t.equal((await scene.startOne()).task.id, id);
    t.strictSame(await store.tenants(null, 10), [ACME, GLOBEX]);
    t.equal((await store.counts(GLOBEX, null)).running, 0);
  });

  test('of a tenant that nobody knows there is nothing to forget', async (scene, t) => {
    t.ok((await forget(scene.store, 'nobody')) < 1_000);
    t.strictSame(await scene.store.tenants(null, 10), [ACME]);
  });
};
