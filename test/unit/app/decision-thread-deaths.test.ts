import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { startMemcached } from '../../support/memcached-server.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { DEATHS, type Death, die, limitHeapOfThreads } from '../../support/threads/deaths.ts';
import { PER_DAY, startThreaded, type ThreadedDecisions } from '../../support/threads/threaded-decisions.ts';
import { until } from '../../support/until.ts';

/** Threads that this process has started, the last at the end. */
const workers: Worker[] = [];
process.on('worker', (worker: Worker) => workers.push(worker));
const warnings: Error[] = [];
process.on('warning', warning => warnings.push(warning));
limitHeapOfThreads(48);

/** Batches that two threads take at once, and requests in each. */
const BATCHES_OF_THREADS = 4;
const BATCH = 10;

/** A store that can be stopped for a while, with what it was asked on its way. */
interface Store {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly deaths: readonly Death[];
  freeze(): void;
  thaw(): void;
  /** Connections that it has from clients. */
  connections(): Promise<number>;
}

const STORES: readonly ((t: Test) => Promise<Store>)[] = [
  async t => {
    const redis = await startRedis();
    t.teardown(() => redis.stop());
    return redisStore('Redis', [redis], { REDIS_URL: redis.address });
  },
  async t => {
    const cluster = await startCluster({ nodes: 2 });
    t.teardown(() => cluster.stop());
    return redisStore('Redis Cluster', cluster.nodes, { REDIS_URL: cluster.address, REDIS_TYPE: 'CLUSTER' });
  },
  async t => {
    const memcached = await startMemcached();
    t.teardown(() => memcached.stop());
    return {
      name: 'memcached',
      env: { MEMCACHE_HOST_PORT: memcached.address },
      deaths: ['terminated', 'throws'],
      freeze: () => memcached.freeze(),
      thaw: () => memcached.thaw(),
      connections: async () => {
        const lines = await memcached.command('stats');
        return Number(lines.find(line => line.startsWith('STAT curr_connections'))?.split(' ')[2]);
      },
    };
  },
];

function redisStore(
  name: string,
  nodes: readonly RedisServer[],
  env: Readonly<Record<string, string>>,
): Store {
  return {
    name,
    env: { ...env, REDIS_POOL_SIZE: '2' },
    deaths: nodes.length === 1 ? DEATHS : ['exits', 'throws'],
    freeze: () => {
      for (const node of nodes) node.freeze();
    },
    thaw: () => {
      for (const node of nodes) node.thaw();
    },
    connections: async () => {
      const infos = await Promise.all(nodes.map(node => node.command('INFO', 'clients')));
      return infos.reduce<number>(
        (sum, info) => sum + Number(/connected_clients:(\d+)/.exec(String(info))?.[1]),
        0,
      );
    },
  };
}

/** Asks while the store stands still, more than the threads take; `meanwhile` happens before it goes on. */
async function askFrozen(service: ThreadedDecisions, store: Store, meanwhile: () => Promise<void>) {
  store.freeze();
  const asked = service.askBursts(BATCHES_OF_THREADS + 2, BATCH, i => `a=${i % 7}`);
  // The bursts are one turn apart each; then their batches are in flight.
  for (let turn = 0; turn < BATCHES_OF_THREADS + 4; turn++)
    await new Promise(resolve => setImmediate(resolve));
  await meanwhile();
  store.thaw();
  return await asked;
}

/** Hits that the store has counted. */
async function counted(service: ThreadedDecisions): Promise<number> {
  const remaining = await Promise.all(Array.from({ length: 7 }, (_, key) => service.askHere(`a=${key}`)));
  return remaining.reduce<number>((sum, each) => sum + PER_DAY - Number(each) - 1, 0);
}

for (const open of STORES) {
  t.test('a thread that dies with batches in flight', async t => {
    const store = await open(t);
    t.comment(store.name);
    const service = await startThreaded(t, store.env);
    const pooled = () => service.counter('ratelimit.service.worker_threads_requests');
    t.ok((await askFrozen(service, store, async () => {})).every(answer => typeof answer === 'number'));
    t.equal(pooled(), BATCHES_OF_THREADS * BATCH);
    const connections = await store.connections();

    for (const [deaths, death] of store.deaths.entries()) {
      const before = await counted(service);
      const failedBefore = service.counter('serviceError');
      const answers = await askFrozen(service, store, () => die(workers.at(-1)!, death));
      const ok = answers.filter(answer => typeof answer === 'number').length;
      const failed = service.counter('serviceError') - failedBefore;
      t.same(
        answers.filter(answer => typeof answer === 'string'),
        Array.from({ length: 2 * BATCH }, () => 'internal'),
        `${death}: its two batches are errors, and no other`,
      );
      t.equal(failed, 2 * BATCH);
      // What `counted` itself adds.
      const hits = (await counted(service)) - before - 7;
      t.ok(ok <= hits && hits <= ok + failed, `${ok} OK, ${failed} not, ${hits} counted`);
      t.equal(service.answeredAgain, 0);

      await service.threads.whenReady(2);
      t.equal(service.counter('ratelimit.service.worker_threads_lost'), deaths + 1);
      const pooledBefore = pooled();
      t.ok((await askFrozen(service, store, async () => {})).every(answer => typeof answer === 'number'));
      t.equal(pooled() - pooledBefore, BATCHES_OF_THREADS * BATCH, 'the new thread takes its share');
      await until(async () => (await store.connections()) === connections);
      t.ok(service.health.healthy);
    }
    t.same(warnings, []);
    await service.threads.stop();
    await service.store.stop();
    t.equal(
      service.counter('ratelimit.redis_pool.cx_local_close'),
      service.counter('ratelimit.redis_pool.cx_total'),
      'connections of the dead threads count as closed',
    );
  });
}

t.test('a thread that dies while it waits for its store is replaced as well', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const service = await startThreaded(t, { REDIS_URL: redis.address });
  await redis.kill();
  await die(workers.at(-1)!, 'terminated');
  const waiting = workers.at(-1)!;
  await new Promise<void>(resolve =>
    waiting.on('message', message => {
      if (message.kind === 'outage') resolve();
    }),
  );
  t.equal(service.threads.ready, 1);
  await die(waiting, 'terminated');
  t.ok(service.logger.messages('error').includes('Decision thread could not be started; trying again'));
  await redis.start();
  await service.threads.whenReady(2);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 2);
  // The other thread has reached its store as well, and the outage that the dead one told of is over.
  await until(() => [...service.health.components.values()].every(({ ok }) => ok));
  t.ok((await service.askBursts(8, BATCH, () => 'a=x')).every(answer => typeof answer === 'number'));
});
