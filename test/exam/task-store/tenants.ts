import { ACCOUNT_ID, SERVICE } from '../../../src/tasks/store/documents.ts';
import {
  historyQuery,
  idempotency,
  PULLER,
  settlement,
  taskChange,
  taskQuery,
} from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const GLOBEX = 'globex';

export const tenants: Topic = test => {
  test('tenants are those that have an account, by name', async (scene, t) => {
    const { store, make } = scene;
    for (const name of ['zeta', GLOBEX, 'ab']) await store.apply(name, [make.account(name)]);
    t.strictSame(await store.tenants(null, 10), ['ab', ACME, GLOBEX, 'zeta']);
    t.strictSame(await store.tenants(null, 2), ['ab', ACME]);
    t.strictSame(await store.tenants(ACME, 2), [GLOBEX, 'zeta']);
    t.strictSame(await store.tenants('b', 1), [GLOBEX], 'a cursor is a place, not a tenant');
    t.strictSame(await store.tenants('zeta', 10), []);
    await store.apply(GLOBEX, [{ op: 'delete', kind: 'account', id: ACCOUNT_ID, expect: 1 }]);
    t.strictSame(await store.tenants(null, 10), ['ab', ACME, 'zeta']);
    await store.apply(GLOBEX, [make.account(GLOBEX)]);
    t.strictSame(await store.tenants(null, 10), ['ab', ACME, GLOBEX, 'zeta']);
  });

  test('accounts are those of the tenants, in the same order', async (scene, t) => {
    const { store, make } = scene;
    for (const name of ['zeta', GLOBEX, 'ab']) await store.apply(name, [make.account(name)]);
    const all = await store.accounts(null, 10);
    t.strictSame(
      all.map(each => each.tenant),
      await store.tenants(null, 10),
    );
    for (const { tenant, account } of all) {
      t.strictSame(account, await store.getDocument(tenant, 'account', ACCOUNT_ID));
    }
    t.strictSame(await store.accounts(null, 2), all.slice(0, 2));
    t.strictSame(await store.accounts(ACME, 10), all.slice(2));
    await store.apply(GLOBEX, [{ op: 'delete', kind: 'account', id: ACCOUNT_ID, expect: 1 }]);
    t.strictSame(
      (await store.accounts('b', 10)).map(each => each.tenant),
      ['zeta'],
    );
  });

  test('documents of the service itself are kept, and it is no tenant', async (scene, t) => {
    const document = { kind: 'master_keys', id: 'master_keys', parent: '', dueAt: null } as const;
    const put = (expect: 'absent' | number, ids: readonly string[]) =>
      scene.store.apply(SERVICE, [{ op: 'put', expect, ...document, unique: [], body: { ids } }]);
    t.strictSame(await put('absent', ['a']), { kind: 'done', versions: [1] });
    t.match(await put('absent', ['b']), { kind: 'refused', reason: 'exists' });
    t.strictSame(await put(1, ['a', 'b']), { kind: 'done', versions: [2] });
    await scene.reopen();
    t.strictSame(await scene.store.getDocument(SERVICE, 'master_keys', document.id), {
      ...document,
      version: 2,
      body: { ids: ['a', 'b'] },
    });
    t.strictSame(await scene.store.tenants(null, 10), [ACME]);
  });

  test('an account that was refused makes no tenant', async (scene, t) => {
    const { store, make } = scene;
    await store.apply(GLOBEX, [make.account(GLOBEX), { ...make.user(), expect: 2 }]);
    t.strictSame(await store.tenants(null, 10), [ACME]);
  });

  test('no tenant sees, changes or counts what is of another', async (scene, t) => {
    const { store, make } = scene;
    await store.apply(GLOBEX, [make.account(GLOBEX), make.worker({ name: 'own' })]);
    const { id } = await scene.add({ key: 'k', scheduleId: 'sch_1' });
    await scene.startOne();
    const running = await scene.add();
    const { leaseId } = await scene.startOne();
    const before = await scene.get(running.id);

    t.equal(await store.get(GLOBEX, id), null);
    t.equal(await store.getWhole(GLOBEX, id), null);
    t.strictSame(await store.bodies(GLOBEX, [id]), new Map([[id, null]]));
    t.equal(await store.history(GLOBEX, id, historyQuery()), null);
    t.strictSame(await store.list(GLOBEX, taskQuery()), []);
    t.strictSame(await store.list(GLOBEX, taskQuery({ workerId: scene.mailer.id })), []);
    t.strictSame(await store.openOfSchedule(GLOBEX, 'sch_1', 10), []);
    t.equal((await store.counts(GLOBEX, null)).running, 0);
    t.equal((await store.counts(GLOBEX, scene.mailer.id)).running, 0);
    t.match(await store.change(GLOBEX, id, taskChange('cancel')), { kind: 'refused', reason: 'missing' });
    t.equal(await store.remove(GLOBEX, id, null), 'missing');
    t.equal(await store.leased(GLOBEX, leaseId), null);
    t.strictSame(await store.extend(GLOBEX, leaseId, 1_000, { percent: 1, note: null, actor: PULLER }), {
      kind: 'lost',
    });
    t.strictSame(await store.settle(GLOBEX, [settlement(leaseId, 'succeeded')]), [{ kind: 'lost' }]);
    t.equal(await store.getDocument(GLOBEX, 'worker', scene.mailer.id), null);
    t.equal(await store.findDocument(GLOBEX, 'name:worker:mailer'), null);
    const users = { kind: 'worker', after: null, limit: 10, order: 'asc' } as const;
    t.equal((await store.listDocuments(GLOBEX, users)).length, 1);
    scene.clock.advance(366 * 86_400_000);
    t.equal((await store.purge(GLOBEX, { succeededMs: 0, otherMs: 0 }, 10)).tasks, 0);
    t.strictSame(await scene.get(running.id), before);
  });

  test('the same ids, keys and names are different ones for two tenants', async (scene, t) => {
    const { store, make } = scene;
    t.match(await store.apply(GLOBEX, [make.account(GLOBEX), scene.mailer, scene.reporter]), {
      kind: 'done',
    });
    const user = make.user();
    t.match(await store.apply(ACME, [user]), { kind: 'done' });
    t.match(await store.apply(GLOBEX, [{ ...user, atMost: 1 }]), { kind: 'done' });
    const request = make.createRequest([scene.newTask({ key: 'k' }, { onConflict: 'reject' })], {
      idempotency: idempotency('i'),
      maxOpen: 1,
    });
    const ofAcme = await store.create(ACME, request);
    t.strictSame(await store.create(GLOBEX, request), ofAcme, 'made for each');
    t.strictSame(await store.recall('initech', idempotency('i')), { kind: 'new' });
  });

  test('workers of the same id have their own tasks, room, buckets and hints', async (scene, t) => {
    const { store, make } = scene;
    await store.apply(GLOBEX, [make.account(GLOBEX), scene.mailer]);
    await scene.create([scene.newTask(), scene.newTask()]);
    const items = [scene.newTask({}, { wake: true }), scene.newTask({}, { wake: true })];
    await store.create(GLOBEX, make.createRequest(items));
    const bounds = {
      concurrency: 2,
      rate: { limit: 1, perMs: 60_000, burst: 2 },
      tenantInFlight: 2,
      tenantPerSecond: 2,
    };
    t.equal((await scene.claim(2, bounds)).tasks.length, 2);
    const { tasks } = await store.claim(GLOBEX, make.claimRequest(scene.mailer.id, 2, bounds));
    t.strictSame(
      tasks.map(({ task }) => task.id),
      items.map(({ task }) => task.id),
    );
    await store.settle(GLOBEX, [
      settlement(tasks[0].leaseId, 'deferred', { throttleMs: 60_000, delayMs: 1_000 }),
    ]);
    scene.clock.advance(1_000);
    await scene.add();
    t.equal((await scene.claim(1)).tasks.length, 1, 'a throttle is that of one tenant');
    t.strictSame(await store.wakeups(scene.now, 10), [
      { tenant: GLOBEX, workerId: scene.mailer.id, at: scene.now },
    ]);
  });

  test('a tenant that nobody knows has nothing', async (scene, t) => {
    const { store, make } = scene;
    t.strictSame(await store.list('nobody', taskQuery()), []);
    t.equal((await store.counts('nobody', null)).scheduled, 0);
    t.equal((await store.purge('nobody', { succeededMs: 0, otherMs: 0 }, 10)).tasks, 0);
    const answer = await store.create('nobody', make.createRequest([scene.newTask()]));
    t.match(answer, { results: [{ kind: 'refused', reason: 'worker_missing' }] });
    t.match(await store.claim('nobody', make.claimRequest(scene.mailer.id, 1)), { tasks: [], nextAt: null });
    t.strictSame(await store.tenants(null, 10), [ACME]);
  });
};
