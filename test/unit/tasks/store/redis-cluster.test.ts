import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import { copyExam } from '../../../exam/task-store/copied-things.ts';
import { randomCopyExam } from '../../../exam/task-store/copying.ts';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type RedisCluster, startCluster } from '../../../support/redis-cluster.ts';
import type { RedisServer } from '../../../support/redis-server.ts';
import { settlement } from '../../../support/tasks/factories.ts';
import {
  type RedisTaskStoreSetting,
  redisBackend,
  redisTaskStore,
  TASK_SERVER_ARGS,
} from '../../../support/tasks/redis-backend.ts';
import { withWorker } from '../../../support/tasks/store-with-worker.ts';
import { openedSqlite } from '../../../support/tasks/stored-things.ts';
import { until, untilDone } from '../../../support/until.ts';

const NOW = Date.UTC(2026, 2, 1, 10);
const ACME = 'acme';

const cluster = await startCluster({ args: [...TASK_SERVER_ARGS, '--repl-diskless-sync-delay', '0'] });
t.teardown(() => cluster.stop());

const backend = redisBackend('redis cluster', cluster.nodes);
taskStoreExam(t, backend, 8);
randomExam(t, backend, { sequences: 3, seed: 101 });

const sqlite: Backend = { name: 'sqlite', open: clock => openedSqlite(t).open(clock) };
for (const [from, to] of [
  [sqlite, backend],
  [backend, sqlite],
]) {
  copyExam(t, from, to);
  randomCopyExam(t, from, to, { sequences: 1 });
}

async function open(t: Test, options: RedisTaskStoreSetting = {}) {
  const time = new ManualClock(NOW);
  const store = redisTaskStore(cluster.nodes, { keyPrefix: 'own:', time, ...options });
  return { time, ...(await withWorker(t, store, time)) };
}

t.test('a store that stops while the map of the cluster is read leaves no timer', async t => {
  const clock = new ManualClock(NOW);
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
  const before = timers();
  const { store } = await open(t, { keyPrefix: 'stopped:', clock });
  clock.advance(1_000);
  await store.stop();
  clock.advance(1_000);
  t.equal(clock.pending, 0);
  await until(() => timers() <= before);
});

/** All scripts begin with that line, so the exam above shows that none of them does. */
t.test('Redis refuses a script of this kind that leaves the slot of its tenant', async t => {
  const tags = ['acme', ...Array.from({ length: 50 }, (_, i) => `other${i}`)];
  const owners = await Promise.all(tags.map(tag => cluster.owner(`{${tag}}`)));
  const slots = await Promise.all(tags.map(tag => cluster.slot(`{${tag}}`)));
  const other = tags.find((_, i) => i > 0 && owners[i] === owners[0] && slots[i] !== slots[0]);
  const text = `#!lua\nredis.call('GET', KEYS[1]) return redis.call('SET', '{${other}}:x', 'y')`;
  const node = cluster.nodes[owners[0]];
  await t.rejects(node.command('EVAL', text, 1, '{acme}:'), /keys that do not hash to the same slot/i);
});

t.test('tenants are spread over the nodes, and all of them are found', async t => {
  const { store, make, time } = await open(t, { keyPrefix: 'spread:' });
  const tenants = Array.from({ length: 12 }, (_, i) => `tenant-${String(i).padStart(2, '0')}`);
  for (const tenant of tenants) {
    const worker = make.worker();
    await store.apply(tenant, [make.account(tenant), worker]);
    const task = make.newTask(worker, { expiresAt: NOW + 1_000 }, { wake: true });
    await store.create(tenant, make.createRequest([task]));
  }
  const owners = new Set(await Promise.all(tenants.map(tenant => cluster.owner(`{${tenant}}`))));
  t.ok(owners.size > 1, 'on more than one node');
  t.same(await store.tenants(null, 100), [ACME, ...tenants]);
  t.same(await store.tenants('tenant-03', 2), ['tenant-04', 'tenant-05']);
  t.equal((await store.wakeups(NOW, 100)).length, 12);
  t.equal((await store.wakeups(NOW, 5)).length, 5);
  time.advance(1_000);
  const overdue = await store.overdue(100);
  t.same(overdue.map(({ tenant }) => tenant).sort(), tenants);
});

/** Moves a slot as an operator does, a key at a time, so that for a while each node has half of them. */
async function moveSlot(of: RedisCluster, slot: number, from: number, to: number): Promise<number> {
  const { nodes } = of;
  await of.startMoving(slot, from, to);
  const source = new Redis({ host: '127.0.0.1', port: nodes[from].port });
  let moved = 0;
  try {
    for (;;) {
      const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 5)) as string[];
      if (keys.length === 0) break;
      await source.call('MIGRATE', '127.0.0.1', nodes[to].port, '', 0, 5_000, 'KEYS', ...keys);
      moved += keys.length;
    }
  } finally {
    source.disconnect();
  }
  await of.finishMoving(slot, to);
  return moved;
}

t.test('a tenant whose slot is being moved waits; nothing is lost, and nothing seen by half', async t => {
  const { store, make, worker } = await open(t, { keyPrefix: 'moved:', timeoutMs: 10_000 });
  const created = new Set<string>();
  const started = new Set<string>();
  const settled = new Set<string>();
  const wrong: string[] = [];
  let going = true;
  const operations = [
    async () => {
      const item = make.newTask(worker);
      const answer = await store.create(ACME, make.createRequest([item]));
      if (answer.kind !== 'done' || answer.results[0].kind !== 'created') wrong.push(JSON.stringify(answer));
      created.add(item.task.id);
    },
    async () => {
      const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 4));
      for (const { task } of tasks) {
        if (started.has(task.id)) wrong.push(`${task.id} was started twice`);
        started.add(task.id);
      }
      const ends = tasks.map(({ leaseId }) => settlement(leaseId, 'succeeded'));
      for (const answer of await store.settle(ACME, ends)) {
        if (answer.kind === 'settled') settled.add(answer.task.id);
        else wrong.push(answer.kind);
      }
    },
  ];
  const failures: Fault[] = [];
  const run = async (operation: () => Promise<void>) => {
    while (going) {
      await operation().catch((failure: Fault) => failures.push(failure));
    }
  };
  const running = [0, 0, 0, 0, 1, 1].map(which => run(operations[which]));
  await until(() => settled.size > 100);
  const slot = await cluster.slot(`{${ACME}}`);
  const from = await cluster.owner(`{${ACME}}`);
  const to = (from + 1) % 3;
  const moved = await moveSlot(cluster, slot, from, to);
  const before = settled.size;
  await until(() => settled.size > before + 100);
  going = false;
  await Promise.all(running);
  await moveSlot(cluster, slot, to, from);

  t.ok(moved > 300, `${moved} keys were moved`);
  t.same(wrong, []);
  t.same(
    failures.filter(failure => !(failure instanceof Fault && failure.code === 'store_failed')),
    [],
  );
  const counts = await store.counts(ACME, null);
  t.ok(counts.succeeded >= settled.size, 'what was settled is settled');
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  t.ok(all >= created.size, 'what was created is there');
  t.equal((await store.bodies(ACME, [...created].slice(-200))).size, Math.min(200, created.size));
});

async function replication(server: RedisServer): Promise<string> {
  return String(await server.command('INFO', 'replication'));
}

/** How far a server has come with what the master writes. */
async function offset(server: RedisServer, role: 'master' | 'slave'): Promise<number> {
  return Number(new RegExp(`${role}_repl_offset:(\\d+)`).exec(await replication(server))?.[1]);
}

t.test('while a node is away, what the others know of is found', async t => {
  const { store, make, time } = await open(t, { keyPrefix: 'partly:' });
  const impatient = redisTaskStore(cluster.nodes, { keyPrefix: 'partly:', time, timeoutMs: 300 });
  t.teardown(() => impatient.stop());
  await impatient.start();
  const tenants = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);
  for (const tenant of tenants) {
    const worker = make.worker();
    await store.apply(tenant, [make.account(tenant), worker, make.worker({ name: 'due' }, { dueAt: NOW })]);
    const task = make.newTask(worker, { expiresAt: NOW + 1_000 }, { wake: true });
    await store.create(tenant, make.createRequest([task]));
  }
  time.advance(1_000);
  t.equal((await store.overdue(100)).length, 12);
  cluster.nodes[0].freeze();
  t.teardown(() => cluster.nodes[0].thaw());
  const finds = (ask: () => Promise<readonly unknown[]>, fits: (count: number) => boolean) =>
    until(() =>
      ask().then(
        found => fits(found.length),
        () => false,
      ),
    );
  const isPart = (count: number) => count > 0 && count < 12;
  await finds(() => impatient.wakeups(NOW, 100), isPart);
  await finds(() => impatient.overdue(100), isPart);
  await finds(() => impatient.dueDocuments(100), isPart);
  cluster.nodes[0].thaw();
  await finds(
    () => impatient.wakeups(NOW, 100),
    count => count === 12,
  );
});

/** The last one: it leaves the cluster without one of its nodes. */
t.test('a replica takes over from its master', async t => {
  const master = await cluster.owner(`{${ACME}}`);
  const replica = await cluster.addReplica(master);
  t.teardown(() => replica.stop());
  const takenOver = redisTaskStore(cluster.nodes, { keyPrefix: 'takeover:' });
  const { store, add } = await withWorker(t, takenOver, new ManualClock(NOW));
  await add();
  const old = cluster.nodes[master];
  await until(async () => (await offset(old, 'master')) === (await offset(replica, 'slave')));
  // It takes the slots that it knows its master to have.
  await until(async () =>
    String(await replica.command('CLUSTER', 'INFO')).includes('cluster_slots_ok:16384'),
  );
  await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
  await until(async () => (await replication(old)).includes('role:slave'));
  // Calls may fail until the store has a connection to the new master.
  await untilDone(() => store.counts(ACME, null));
  t.equal((await store.counts(ACME, null)).scheduled, 1, 'what was there is there');
  await untilDone(() => add());
  await old.kill();
  await untilDone(() => add());
  // Of those that failed it is not known whether they happened.
  t.ok((await store.counts(ACME, null)).scheduled >= 3);
});
