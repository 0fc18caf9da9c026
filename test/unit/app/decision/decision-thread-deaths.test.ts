import t, { type Test } from 'tap';
import { startMemcached } from '../../../support/memcached-server.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { DEATHS, type Death, die, limitHeapOfThreads } from '../../../support/threads/deaths.ts';
import { startedThreads } from '../../../support/threads/started-threads.ts';
import {
  PER_DAY,
  startThreaded,
  type ThreadedDecisions,
} from '../../../support/threads/threaded-decisions.ts';
import { until } from '../../../support/until.ts';

const workers = startedThreads(t);
const warnings: Error[] = [];
process.on('warning', warning => warnings.push(warning));
limitHeapOfThreads(48);

/** Batches that two threads take at once, and requests in each. */
const BATCHES_OF_THREADS = 4;
const BATCH = 10;
const KEYS = 7;

/** Clients of the store: two threads and the one of the test; and connections of each to a node. */
const CLIENTS = 3;
const POOL = 2;

/** A store that can be stopped for a while, with what it was asked on its way. */
interface Store {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly deaths: readonly Death[];
  freeze(): void;
  thaw(): void;
  /** Connections that it has from clients, and that they open at most. */
  connections(): Promise<number>;
  readonly mostConnections: number;
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
      // And the one that asks.
      mostConnections: CLIENTS * POOL + 1,
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
    env: { ...env, REDIS_POOL_SIZE: String(POOL) },
    deaths: nodes.length === 1 ? DEATHS : ['exits', 'throws'],
    freeze: () => {
      for (const node of nodes) node.freeze();
    },
    thaw: () => {
      for (const node of nodes) node.thaw();
    },
    mostConnections: CLIENTS * POOL * nodes.length,
    connections: async () => {
      const lists = await Promise.all(nodes.map(node => node.command('CLIENT', 'LIST')));
      // Those that ask here come and go.
      return lists.flatMap(list => String(list).split('\n')).filter(line => /cmd=(?!client|NULL)/.test(line))
        .length;
    },
  };
}

/** Asks for keys of this name while the store stands still, more than the threads take; `meanwhile` happens then. */
async function askFrozen(
  service: ThreadedDecisions,
  store: Store,
  name: string,
  meanwhile = async (): Promise<void> => {},
) {
  store.freeze();
  const asked = service.askBursts(BATCHES_OF_THREADS + 2, BATCH, i => `a=${name}-${i % KEYS}`);
  // The bursts are one turn apart each; then their batches are in flight.
  for (let turn = 0; turn < BATCHES_OF_THREADS + 4; turn++)
    await new Promise(resolve => setImmediate(resolve));
  await meanwhile();
  store.thaw();
  return await asked;
}

/** Says how many hits the store has counted for the keys of a name, without its own. */
function counterOf(service: ThreadedDecisions, name: string): () => Promise<number> {
  let looks = 0;
  return async () => {
    looks++;
    const keys = Array.from({ length: KEYS }, (_, key) => service.askHere(`a=${name}-${key}`));
    return (await Promise.all(keys)).reduce<number>((sum, left) => sum + PER_DAY - Number(left) - looks, 0);
  };
}

for (const open of STORES) {
  t.test('a thread that dies with batches in flight', async t => {
    const store = await open(t);
    t.comment(store.name);
    const service = await startThreaded(t, store.env);
    const pooled = () => service.counter('ratelimit.service.worker_threads_requests');
    t.ok((await askFrozen(service, store, 'first')).every(answer => typeof answer === 'number'));
    t.equal(pooled(), BATCHES_OF_THREADS * BATCH);

    for (const [deaths, death] of store.deaths.entries()) {
      const failedBefore = service.counter('ratelimit.service.call.should_rate_limit.service_error');
      const answers = await askFrozen(service, store, death, () => die(workers.at(-1)!, death));
      const ok = answers.filter(answer => typeof answer === 'number').length;
      const failed = service.counter('ratelimit.service.call.should_rate_limit.service_error') - failedBefore;
      t.same(
        answers.filter(answer => typeof answer === 'string'),
        Array.from({ length: 2 * BATCH }, () => 'internal'),
        `${death}: its two batches are errors, and no other`,
      );
      t.equal(failed, 2 * BATCH);
      t.equal(service.answeredAgain, 0);

      await service.threads.whenReady(2);
      t.equal(service.counter('ratelimit.service.worker_threads_lost'), deaths + 1);
      const pooledBefore = pooled();
      t.ok((await askFrozen(service, store, `after-${death}`)).every(answer => typeof answer === 'number'));
      t.equal(pooled() - pooledBefore, BATCHES_OF_THREADS * BATCH, 'the new thread takes its share');
      await until(async () => (await store.connections()) <= store.mostConnections);

      const counted = counterOf(service, death);
      // memcached is told of hits after they were answered.
      await until(async () => (await counted()) >= ok);
      const hits = await counted();
      t.ok(hits <= ok + failed, `${ok} OK, ${failed} not, ${hits} counted`);
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
  await until(() => service.threadsWithOutage.includes(waiting.threadId));
  t.equal(service.threads.ready, 1);
  await die(waiting, 'terminated');
  t.equal(
    service.logger.messages('error').filter(line => line === 'Decision thread ended; starting a replacement')
      .length,
    2,
  );
  await redis.start();
  await service.threads.whenReady(2);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 2);
  // The other thread has reached its store as well, and the outage that the dead one told of is over.
  await until(() => [...service.health.components.values()].every(({ ok }) => ok));
  t.ok((await service.askBursts(8, BATCH, () => 'a=x')).every(answer => typeof answer === 'number'));
});
