import t, { type Test } from 'tap';
import { Signals } from '../../../../../src/tasks/model/signals.ts';
import { deleteSome } from '../../../../../src/tasks/scheduler/upkeep/deletions.ts';
import { ACCOUNT_ID, type StoredDocument } from '../../../../../src/tasks/store/documents.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { ACME, Scene } from '../../../../exam/task-store/scene.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { startRedis } from '../../../../support/redis-server.ts';
import { idempotency, taskQuery } from '../../../../support/tasks/factories.ts';
import { postgresBackend } from '../../../../support/tasks/postgres-backend.ts';
import { TASK_SERVER_ARGS } from '../../../../support/tasks/redis-backend.ts';
import { type OpenedBackend, openedRedis, openedSqlite } from '../../../../support/tasks/stored-things.ts';
import { until } from '../../../../support/until.ts';

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());
const postgres = noPostgres === false ? await postgresFor(t) : null;
t.jobs = 2;

const SECOND_SWEEP_MS = 10 * 60_000;
const DOMAIN_KEPT_MS = 30 * 86_400_000;
const RATE = { limit: 10, perMs: 1_000, burst: 10 };

let prefixes = 0;
const BACKENDS: Readonly<Record<string, (t: Test) => OpenedBackend>> = {
  sqlite: openedSqlite,
  redis: () => openedRedis(server, `deletion${++prefixes}:`),
  ...(postgres !== null && { postgres: () => postgresBackend('postgres', postgres) }),
};

/** An account with something of everything, whose deletion has been asked for. One attempt of it runs. */
async function beginDeletion(scene: Scene, tasks: number): Promise<{ readonly leaseId: string }> {
  const { store, make } = scene;
  await store.apply(
    ACME,
    [make.user(), make.schedule(scene.mailer), make.audit(), make.secret(scene.mailer.id)],
    idempotency('applied'),
  );
  await store.remember(ACME, idempotency('remembered'));
  const onFinish = { workerId: scene.reporter.id, events: ['succeeded', 'canceled'] } as const;
  const items = Array.from({ length: tasks }, (_, i) =>
    scene.newTask({ key: `k${i}`, group: `g${i % 3}`, scheduleId: 'sch_1', onFinish }, { wake: true }),
  );
  await scene.create(items, { idempotency: idempotency('created') });
  await scene.create([scene.newTask({ expiresAt: scene.now + 60_000 }), scene.newTask()]);
  const bounds = { rate: RATE, groups: { concurrency: 1, fifo: true } };
  const { tasks: started } = await scene.claim(3, bounds);
  await scene.end(started[0].leaseId, 'succeeded', { result: '1' });
  await scene.end(started[1].leaseId, 'deferred', { throttleMs: 60_000, delayMs: 3_600_000 });
  const account = (await store.getDocument(ACME, 'account', ACCOUNT_ID))!;
  const deletion = { requestedAt: scene.now, requestId: 'req_1', finishedAt: null };
  const body = { ...account.body, status: 'deleting', deletion } as const;
  await store.apply(ACME, [{ ...make.account(ACME), expect: account.version, dueAt: scene.now, body }]);
  return { leaseId: started[2].leaseId };
}

/** One look, as the service takes several each second. Returns whether the account was due. */
async function look(store: TaskStore, through: TaskStore = store): Promise<boolean> {
  await store.overdue(100);
  for (const { workerId } of await store.wakeups(Number.MAX_SAFE_INTEGER, 100)) {
    // The dispatcher does so for a worker that is not there.
    if ((await store.getDocument(ACME, 'worker', workerId)) === null) {
      await store.setWakeup(ACME, workerId, null);
    }
  }
  for (const { tenant, document } of await store.dueDocuments(100)) {
    if (document.kind !== 'account') continue;
    const parts = { store: through, signals: new Signals() };
    await deleteSome(parts, tenant, document as StoredDocument<'account'>);
    return true;
  }
  return false;
}

/** Looks until nothing is due. Returns how often. */
async function goOn(store: TaskStore): Promise<number> {
  let looks = 0;
  while ((await look(store)) && looks < 200) looks++;
  return looks;
}

async function statusOf({ store }: Scene): Promise<string | undefined> {
  return (await store.getDocument(ACME, 'account', ACCOUNT_ID))?.body.status;
}

/** All that is stored is what shows the deletion. */
async function isOnlyTombstone(t: Test, backend: OpenedBackend): Promise<void> {
  const keys = ['A:account', 'D:account', 'P:account:', 'Z'].map(name => `{${ACME}}:${name}`);
  const expected = {
    sqlite: ['doc', 'tenant'],
    redis: [`docs:0 ${ACME}`, `tenants:0 ${ACME}`, ...keys],
    // A row of counts, which are 0, for each connection that has counted.
    postgres: ['doc', 'tally', 'tenant'],
  }[backend.name as 'sqlite' | 'redis' | 'postgres'];
  const shortened = (await backend.everything()).map(name =>
    backend.name === 'redis' ? name.slice(name.indexOf(':') + 1) : name.split(' ', 1)[0],
  );
  t.strictSame([...(backend.name === 'postgres' ? new Set(shortened) : shortened)].sort(), expected.sort());
}

for (const [name, backendFor] of Object.entries(BACKENDS)) {
  t.test(`${name}: nothing is left of a deleted account but the entry that shows it`, async t => {
    const backend = backendFor(t);
    const scene = await Scene.open(t, backend);
    const { store, clock } = scene;
    const { leaseId } = await beginDeletion(scene, 450);
    t.ok((await goOn(store)) > 5);
    t.equal(await statusOf(scene), 'deleting', 'an attempt runs');
    t.match(await store.list(ACME, taskQuery()), [{ status: 'running', cancelRequestedAt: scene.now }]);
    await scene.settle(leaseId, 'canceled');
    clock.advance(1_000);
    await goOn(store);
    const left = await store.getDocument(ACME, 'account', ACCOUNT_ID);
    t.match(left?.body, { status: 'deleted', deletion: { finishedAt: scene.now }, dataKey: null });
    t.strictSame(await store.tenants(null, 10), [ACME]);
    await isOnlyTombstone(t, backend);

    clock.advance(DOMAIN_KEPT_MS);
    await goOn(store);
    t.equal(await statusOf(scene), undefined);
    t.strictSame(await store.tenants(null, 10), []);
    await until(async () => {
      await store.dueDocuments(100);
      return (await backend.everything()).length === 0;
    });
    t.strictSame(await backend.everything(), []);
  });

  t.test(`${name}: what a request wrote after the first sweep is removed by the second`, async t => {
    const backend = backendFor(t);
    const scene = await Scene.open(t, backend);
    const { store, make, clock } = scene;
    const { leaseId } = await beginDeletion(scene, 10);
    await scene.settle(leaseId, 'canceled');
    await goOn(store);
    t.equal(await statusOf(scene), 'deleted');
    await store.apply(ACME, [scene.mailer, make.audit()], idempotency('late'));
    await scene.create([scene.newTask({ key: 'late', group: 'g' }, { wake: true })], {
      idempotency: idempotency('late too'),
    });
    await store.setWakeup(ACME, scene.reporter.id, scene.now);
    clock.advance(SECOND_SWEEP_MS);
    t.ok((await goOn(store)) > 0);
    await isOnlyTombstone(t, backend);
    t.match(await store.getDocument(ACME, 'account', ACCOUNT_ID), {
      body: { status: 'deleted', deletion: { finishedAt: scene.now - SECOND_SWEEP_MS } },
      dueAt: scene.now - SECOND_SWEEP_MS + DOMAIN_KEPT_MS,
    });
  });

  t.test(`${name}: a deletion that is interrupted at any call goes on after the restart`, async t => {
    const backend = backendFor(t);
    const scene = await Scene.open(t, backend);
    const { leaseId } = await beginDeletion(scene, 10);
    await scene.settle(leaseId, 'canceled');
    let interruptions = 0;
    while ((await statusOf(scene)) === 'deleting' && interruptions < 200) {
      // The runs that get furthest need about 20 calls when only the account is left.
      const through = failingAfter(scene.store, 1 + (interruptions % 30));
      await t.rejects(untilFailed(scene.store, through), { message: 'interrupted' });
      interruptions++;
      await scene.reopen();
    }
    t.ok(interruptions > 10 && interruptions < 200, `${interruptions} interruptions`);
    await goOn(scene.store);
    await isOnlyTombstone(t, backend);
  });
}

/** The store, which does so many calls and then fails each time before the call, or after it. */
function failingAfter(store: TaskStore, calls: number): TaskStore {
  let left = calls;
  return new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        if (--left < 0) throw new Error('interrupted');
        const answer: unknown = await member.apply(store, args);
        if (left === 0 && calls % 2 === 0) throw new Error('interrupted');
        return answer;
      };
    },
  });
}

async function untilFailed(store: TaskStore, through: TaskStore): Promise<void> {
  while (await look(store, through));
  throw new Error('interrupted');
}
