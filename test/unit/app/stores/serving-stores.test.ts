import t from 'tap';
import { answeringServer, reply } from '../../../support/answering-server.ts';
import { aftersOf, batchOf, count } from '../../../support/counting.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { startMemcached } from '../../../support/memcached-server.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../../support/redis-sentinel.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { openServingStores, type ThreadStore } from '../../../support/serving-stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

/** Number of connections to a server, without that of the question. */
async function connectionsOf(redis: RedisServer): Promise<number> {
  return (
    String(await redis.command('CLIENT', 'LIST', 'TYPE', 'normal'))
      .trim()
      .split('\n').length - 1
  );
}

/** Counts many batches at the same time in all threads; the counts of the key `a`, in order. */
async function countEverywhere(threads: readonly ThreadStore[], each = 20): Promise<number[]> {
  const batches = threads.flatMap(({ opened }) =>
    Array.from({ length: each }, async () => {
      const batch = batchOf([{ ops: ONE }]);
      await opened.store.increment(batch);
      return aftersOf(batch)[0];
    }),
  );
  return (await Promise.all(batches)).sort((a, b) => a - b);
}

/** The numbers from 1 up to a last one. */
function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}

/** How often a command was called, or redirected, by INFO. */
function callsOf(info: unknown, command: string, which: 'calls' | 'rejected_calls' = 'calls'): number {
  const [line = ''] = String(info)
    .split('\r\n')
    .filter(each => each.startsWith(`cmdstat_${command}:`));
  return Number(new RegExp(`[:,]${which}=([0-9]+)`).exec(line)?.[1] ?? 0);
}

for (const [size, threads] of [
  [7, 3],
  [3, 3],
  [1, 2],
]) {
  t.test(`${threads} serving threads use ${size} connections together`, async t => {
    const redis = await startRedis();
    t.teardown(() => redis.stop());
    const env = {
      KVCACHE_URL: redis.address,
      KVCACHE_POOL_SIZE: String(size),
      KVCACHE_POOL_ON_EMPTY_BEHAVIOR: 'wait',
    };
    const process = await openServingStores(t, env, { count: threads });
    const all = [process.primary, ...process.threads];
    t.same(await countEverywhere(all), upTo(all.length * 20));
    t.equal(await connectionsOf(redis), size);
    const active = all.map(({ stats }) => new Map(stats.gauges()).get('ratelimit.redis_pool.cx_active') ?? 0);
    t.equal(
      active.reduce((sum, each) => sum + each, 0),
      size,
      'the gauges of all threads are the connections',
    );
  });
}

t.test('a thread uses both instances of Redis itself, or hands on what belongs to either', async t => {
  const [main, perSecond] = [await startRedis(), await startRedis()];
  t.teardown(() => Promise.all([main.stop(), perSecond.stop()]));
  const env = {
    KVCACHE_URL: main.address,
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_URL: perSecond.address,
    KVCACHE_PERSECOND_POOL_SIZE: '2',
  };
  const { threads } = await openServingStores(t, env, { count: 2 });
  for (const [i, { opened, stats }] of threads.entries()) {
    t.equal(opened.store.secondsApart, true);
    t.same(await count(opened.store, [{ key: 'a', hits: 1, unit: 1 }]), [i + 1]);
    t.same(await count(opened.store, [{ key: 'b', hits: 1, unit: 2 }]), [i + 1]);
    t.equal([...stats.gauges()].length > 0, i === 0, 'only the first has connections');
  }
  t.equal(await perSecond.command('GET', 'a'), '2');
  t.equal(await main.command('GET', 'b'), '2');
});

t.test(
  'what a guarded store could not count is decided in the primary thread for those that hand on',
  async t => {
    const redis = await startRedis();
    t.teardown(() => redis.stop());
    const env = { KVCACHE_URL: redis.address, KVCACHE_POOL_SIZE: '1', STORE_FAILURE_MODE: 'local' };
    const { primary, threads } = await openServingStores(t, env, { count: 2 });
    t.same(await count(threads[0].opened.store, ONE), [1]);
    await redis.kill();
    t.same(await countEverywhere(threads, 1), [1, 2], 'counted in this process');
    t.equal(new Map(primary.stats.counters()).get('ratelimit.service.call.should_rate_limit.redis_error'), 2);
    await primary.opened.stop();
    await t.rejects(count(threads[0].opened.store, ONE), { code: 'store_failed' });
  },
);

t.test('memcached counts the hits of all threads on the connections of the primary thread', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const env = {
    BACKEND_TYPE: 'memcache',
    MEMCACHE_HOST_PORT: memcached.address,
    MEMCACHE_MAX_IDLE_CONNS: '1',
    STORE_FAILURE_MODE: 'error',
  };
  const { primary, threads } = await openServingStores(t, env, { count: 3 });
  await count(primary.opened.store, ONE);
  await until(async () => (await memcached.get('a')) === '1');
  t.same(await countEverywhere(threads), upTo(61).slice(1), 'every batch reads the hits of those before it');
  t.same(
    threads.flatMap(({ stats }) => [...stats.counters()]),
    [],
    'no thread talks to memcached itself',
  );
});

t.test('one thread asks a cluster for its slots, however many there are', async t => {
  const cluster = await startCluster();
  t.teardown(() => cluster.stop());
  const clock = new ManualClock(1_700_000_000_000);
  const env = { KVCACHE_TYPE: 'cluster', KVCACHE_URL: cluster.address, KVCACHE_POOL_SIZE: '5' };
  const { threads } = await openServingStores(t, env, { count: 3, clock });
  const asked = async () => {
    const infos = await Promise.all(cluster.nodes.map(node => node.command('INFO', 'commandstats')));
    return infos.reduce<number>((sum, info) => sum + callsOf(info, 'cluster|slots'), 0);
  };
  t.equal(await asked(), 1, 'at start');
  let ticks = 0;
  await until(async () => {
    clock.advance(5_000);
    ticks++;
    return (await asked()) > 10;
  });
  t.ok((await asked()) <= 1 + ticks, 'and then once every five seconds at most', { ticks });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
});

t.test('threads follow a slot that moves to another node, and learn its new place', async t => {
  const cluster = await startCluster();
  t.teardown(() => cluster.stop());
  const clock = new ManualClock(1_700_000_000_000);
  const env = { KVCACHE_TYPE: 'cluster', KVCACHE_URL: cluster.address, KVCACHE_POOL_SIZE: '3' };
  const { threads } = await openServingStores(t, env, { count: 2, clock });
  const slot = await cluster.slot('a');
  const from = await cluster.owner('a');
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]];
  t.same(await countEverywhere(threads, 1), [1, 2]);
  await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', cluster.ids[from]);
  await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', cluster.ids[to]);
  await source.command('MIGRATE', '127.0.0.1', target.port, 'a', 0, 5_000);
  t.same(await countEverywhere(threads, 1), [3, 4], 'ASK is followed');
  for (const node of cluster.nodes) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', cluster.ids[to]);
  clock.advance(1_000);
  t.same(await countEverywhere(threads, 1), [5, 6], 'MOVED is followed');
  const redirected = async () =>
    callsOf(await source.command('INFO', 'commandstats'), 'incrby', 'rejected_calls');
  t.ok((await redirected()) >= 2);
  let counted = 6;
  await until(async () => {
    const before = await redirected();
    for (const { opened } of threads) t.same(await count(opened.store, ONE), [++counted]);
    return (await redirected()) === before;
  });
  t.pass('and then all threads know the new place, although no regular look was due');
});

/** A master, its replica, and a sentinel that watches them. */
async function startWatched(t: { teardown(run: () => unknown): void }) {
  const master = await startRedis();
  t.teardown(() => master.stop());
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  t.teardown(() => replica.stop());
  // A sentinel asks who the replicas are when it starts, and then after ten seconds.
  while (!/connected_slaves:1/.test(String(await master.command('INFO', 'replication'))));
  const sentinel = await startSentinel(master.port);
  t.teardown(() => sentinel.stop());
  await sentinel.knowsReplica();
  const env = {
    KVCACHE_TYPE: 'sentinel',
    KVCACHE_URL: `${MASTER_NAME},${sentinel.address}`,
    KVCACHE_POOL_SIZE: '4',
  };
  return { master, replica, sentinel, env };
}

t.test('one thread asks the sentinels, however many there are', async t => {
  const master = await startRedis();
  t.teardown(() => master.stop());
  let asked = 0;
  const sentinel = await answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    if (words[0] === 'get-master-addr-by-name') asked++;
    return reply(['127.0.0.1', String(master.port)]);
  });
  const clock = new ManualClock(1_700_000_000_000);
  const env = { KVCACHE_TYPE: 'sentinel', KVCACHE_URL: `${MASTER_NAME},${sentinel}`, KVCACHE_POOL_SIZE: '4' };
  const { threads } = await openServingStores(t, env, { count: 3, clock });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
  t.equal(asked, 1, 'at start');
  let ticks = 0;
  await until(() => {
    clock.advance(1_000);
    ticks++;
    return asked > 10;
  });
  t.ok(asked <= 1 + ticks, 'and then once every second at most', { ticks });
});

t.test('threads follow a failover', async t => {
  const { master, replica, sentinel, env } = await startWatched(t);
  const { threads } = await openServingStores(t, env, { count: 3 });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
  await master.command('WAIT', '1', '5000');
  await sentinel.command('SENTINEL', 'FAILOVER', MASTER_NAME);
  const isAtReplica = ({ logger }: ThreadStore) =>
    logger.lines.filter(line => line.message === 'Connected to Redis').at(-1)?.fields.server ===
    replica.address;
  await until(() => threads.every(isAtReplica));
  for (const { opened } of threads) await untilCounted(opened.store, ONE);
  t.equal(await replica.command('GET', 'a'), '6');
});

t.test('threads follow a master that was killed', async t => {
  const { master, replica, env } = await startWatched(t);
  const { threads } = await openServingStores(t, env, { count: 3 });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
  await master.command('WAIT', '1', '5000');
  await master.kill();
  for (const { opened } of threads) await untilCounted(opened.store, ONE);
  t.equal(await replica.command('GET', 'a'), '6');
});
