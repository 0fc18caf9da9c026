import type { Test } from 'tap';
import t from 'tap';
import { systemClock } from '../../../../src/base/clock.ts';
import { threadedSqliteStore } from '../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { Factory, taskQuery } from '../../../support/tasks/factories.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { storePath } from '../../../support/tasks/sqlite-files.ts';

// A tenant that asks much of the store, beside one that asks for one thing.

const make = new Factory(systemClock);
const worker = make.worker();

/** What is asked at once takes its time on a busy machine. */
const PATIENT = { timeoutMs: 60_000 };

/** Stores, not started. */
const STORES: readonly { readonly name: string; open(t: Test): Promise<TaskStore> }[] = [
  {
    name: 'SQLite',
    open: async t => threadedSqliteStore({ path: storePath(t) }, new KeepingLogger()).store,
  },
  {
    name: 'Redis',
    open: async t => {
      const server = await startRedis({ args: TASK_SERVER_ARGS });
      t.teardown(() => server.stop());
      return redisTaskStore([server], PATIENT);
    },
  },
  {
    name: 'Redis Cluster',
    open: async t => {
      const cluster = await startCluster({ args: TASK_SERVER_ARGS });
      t.teardown(() => cluster.stop());
      return redisTaskStore(cluster.nodes, PATIENT);
    },
  },
];

/** A call of the store about one tenant. */
type Ask = (store: TaskStore, tenant: string) => Promise<unknown>;

const createOne: Ask = (store, tenant) => store.create(tenant, make.createRequest([make.newTask(worker)]));
const createMany: Ask = (store, tenant) =>
  store.create(tenant, make.createRequest(Array.from({ length: 200 }, () => make.newTask(worker))));
const list: Ask = (store, tenant) => store.list(tenant, taskQuery({ limit: 200 }));

/** How many of `count` calls for a tenant are over before a call for another tenant that comes last. */
async function overBefore(store: TaskStore, ask: Ask, count: number, last: Ask): Promise<number> {
  let over = 0;
  const flood = Array.from({ length: count }, async () => {
    await ask(store, 'flood');
    over++;
  });
  await last(store, 'honest');
  const before = over;
  await Promise.all(flood);
  return before;
}

for (const { name, open } of STORES) {
  t.test(
    `a tenant with many or heavy calls does not keep another one waiting for all of them: ${name}`,
    async t => {
      const store = await open(t);
      t.teardown(() => store.stop());
      await store.start();
      for (const tenant of ['flood', 'honest']) await store.apply(tenant, [make.account(tenant), worker]);
      const small = await overBefore(store, createOne, 1_200, createOne);
      t.ok(small <= 700, `${small} of 1200 were made before`);
      const large = await overBefore(store, createMany, 40, createOne);
      t.ok(large <= 16, `${large} of 40 batches were made before`);
      const lists = await overBefore(store, list, 150, list);
      t.ok(lists <= 60, `${lists} of 150 were listed before`);
      const listsBesideWrite = await overBefore(store, list, 150, createOne);
      t.ok(listsBesideWrite <= 60, `${listsBesideWrite} of 150 were listed before a task was made`);
      t.equal((await store.counts('flood', null)).scheduled, 9_200, 'and all is done');
    },
  );
}

for (const { name, open } of STORES.slice(0, 2)) {
  t.test(`a tenant with as many calls as it may have leaves room for another: ${name}`, async t => {
    const store = await open(t);
    t.teardown(() => store.stop());
    await store.start();
    const flood = Array.from({ length: 10_000 }, () => store.counts('flood', null));
    const honest = Array.from({ length: 200 }, () => store.counts('honest', null));
    const refused = (await Promise.allSettled(flood)).filter(({ status }) => status === 'rejected');
    t.match(refused[0], { reason: { code: 'overloaded' } });
    t.ok(refused.length > 5_000 && refused.length < 9_000, `${refused.length} of 10000 are refused`);
    t.equal((await Promise.all(honest)).length, 200);
  });
}
