import t, { type Test } from 'tap';
import { CounterBatch } from '../../../../src/counters/batch.ts';
import { aftersOf, count, fill } from '../../../support/counting.ts';
import { clusterFor } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, sentinelFor } from '../../../support/redis-sentinel.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { startedStore, storeOfSettings } from '../../../support/store-of-settings.ts';
import { until } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

async function openStore(t: Test, env: Readonly<Record<string, string>>) {
  const told: boolean[] = [];
  const store = await storeOfSettings(t, env, { connectionsChanged: connected => told.push(connected) });
  return { ...store, told };
}

t.test('the settings lead to Redis, and its connections are counted by the names in use', async t => {
  const redis = await redisFor(t, { args: ['--requirepass', 's3cret'] });
  const env = { REDIS_URL: `redis://${redis.address}/2`, REDIS_AUTH: 's3cret' };
  const { opened, stats } = await startedStore(t, env);
  t.same(await count(opened.store, [{ key: 'a', hits: 1 }]), [1]);
  t.match(await redis.command('INFO', 'keyspace'), /db2:keys=1/);
  t.equal(new Map(stats.gauges()).get('ratelimit.redis_pool.cx_active'), 1);
  await opened.stop();
  t.same(Object.fromEntries(stats.counters()), {
    'ratelimit.redis_pool.cx_total': 1,
    'ratelimit.redis_pool.cx_local_close': 1,
  });
  t.equal(new Map(stats.gauges()).get('ratelimit.redis_pool.cx_active'), 0);
});

t.test('the settings lead to a cluster on one side and sentinels on the other', async t => {
  const cluster = await clusterFor(t, { nodes: 1, args: ['--requirepass', 'cl4ster'] });
  const master = await redisFor(t, { args: ['--requirepass', 'm4ster'] });
  const sentinel = await sentinelFor(t, master.port, 's3ntinel');
  const { opened, stats, told } = await openStore(t, {
    KVCACHE_TYPE: 'Cluster',
    KVCACHE_URL: cluster.address,
    KVCACHE_AUTH: 'cl4ster',
    KVCACHE_CLUSTER_PIPELINE_PARALLELISM: '1',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_TYPE: 'sentinel',
    KVCACHE_PERSECOND_URL: `${MASTER_NAME},${sentinel.address}`,
    KVCACHE_PERSECOND_AUTH: 'm4ster',
    KVCACHE_PERSECOND_SENTINEL_AUTH: 's3ntinel',
  });
  await opened.start();
  const batch = new CounterBatch(opened.fingerprintKey);
  batch.secondsApart = true;
  const ops = [
    { key: 'a', hits: 1, unit: 1 },
    { key: 'a', hits: 2, unit: 2 },
  ];
  fill(batch, [{ ops }]);
  await opened.store.increment(batch);
  t.same(aftersOf(batch), [1, 2]);
  t.equal(await master.command('GET', 'a'), '1');
  t.equal(await cluster.nodes[0].command('GET', 'a'), '2');
  t.same(told, [false, true], 'connected is who reaches both');
  const gauges = new Map(stats.gauges());
  t.equal(gauges.get('ratelimit.redis_pool.cx_active'), 1);
  t.equal(gauges.get('ratelimit.redis_per_second_pool.cx_active'), 1);
  await opened.stop();
  t.match(Object.fromEntries(stats.counters()), {
    'ratelimit.redis_pool.cx_total': 1,
    'ratelimit.redis_pool.cx_local_close': 1,
    'ratelimit.redis_per_second_pool.cx_total': 1,
    'ratelimit.redis_per_second_pool.cx_local_close': 1,
  });
});

t.test('and the other way round', async t => {
  const cluster = await clusterFor(t, { nodes: 1 });
  const master = await redisFor(t);
  const sentinel = await sentinelFor(t, master.port, 's3ntinel');
  const { opened } = await openStore(t, {
    REDIS_TYPE: 'SENTINEL',
    REDIS_URL: `${MASTER_NAME},${sentinel.address}`,
    KVCACHE_SENTINEL_AUTH: 's3ntinel',
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_TYPE: 'cluster',
    REDIS_PERSECOND_URL: cluster.address,
    KVCACHE_PERSECOND_CLUSTER_PIPELINE_PARALLELISM: '2',
  });
  await opened.start();
  t.same(await count(opened.store, [{ key: 'minute', hits: 1, unit: 2 }]), [1]);
  t.same(await count(opened.store, [{ key: 'second', hits: 1, unit: 1 }]), [1]);
  t.equal(await master.command('DBSIZE'), 1);
  t.equal(await cluster.nodes[0].command('DBSIZE'), 1);
});

/** Two servers, the second on a unix socket, with pools of one that fail in 10 ms. */
const SMALL_POOLS = {
  KVCACHE_POOL_SIZE: '1',
  KVCACHE_POOL_ON_EMPTY_BEHAVIOR: 'error',
  KVCACHE_POOL_ON_EMPTY_WAIT_DURATION: '10ms',
  KVCACHE_PERSECOND: 'true',
  KVCACHE_PERSECOND_SOCKET_TYPE: 'unix',
  KVCACHE_PERSECOND_POOL_SIZE: '1',
  KVCACHE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR: 'Error',
  KVCACHE_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION: '11ms',
};

t.test('each instance has a pool of its own, and what happens when it is empty is as set', async t => {
  const main = await redisFor(t);
  const perSecond = await redisFor(t, { unixSocket: true });
  const { opened } = await openStore(t, {
    ...SMALL_POOLS,
    KVCACHE_URL: main.address,
    KVCACHE_PERSECOND_URL: perSecond.socketPath!,
  });
  await opened.start();
  for (const [redis, unit, waitMs] of [
    [main, 2, 10],
    [perSecond, 1, 11],
  ] as const) {
    const ops = [{ key: 'a', hits: 1, unit }];
    redis.freeze();
    const first = count(opened.store, ops);
    await t.rejects(count(opened.store, ops), { message: `none became free within ${waitMs} ms` });
    redis.thaw();
    t.same(await first, [1]);
  }
});

t.test('each instance has a time-out of its own', async t => {
  const main = await redisFor(t);
  const perSecond = await redisFor(t);
  const { opened } = await openStore(t, {
    KVCACHE_URL: main.address,
    KVCACHE_TIMEOUT: '1s',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_URL: perSecond.address,
    KVCACHE_PERSECOND_SOCKET_TYPE: 'tcp',
    KVCACHE_PERSECOND_TIMEOUT: '900ms',
  });
  await opened.start();
  for (const [redis, unit, boundMs] of [
    [main, 2, 1_000],
    [perSecond, 1, 900],
  ] as const) {
    redis.freeze();
    await t.rejects(count(opened.store, [{ key: 'a', hits: 1, unit }]), {
      message: `Redis at ${redis.address}: no answer within ${boundMs} ms`,
    });
    redis.thaw();
  }
});

t.test('the start is given up after the time that is set, and waits as set between attempts', async t => {
  const { opened } = await openStore(t, {
    KVCACHE_URL: '127.0.0.1:1',
    KVCACHE_STARTUP_INITIAL_INTERVAL: '5ms',
    KVCACHE_STARTUP_MAX_INTERVAL: '5ms',
    KVCACHE_STARTUP_MAX_ELAPSED_TIME: '20ms',
  });
  await t.rejects(opened.start(), { message: /within \d+ ms \(the limit is 20 ms\)/ });
});

t.test('losing the last connection is reported', async t => {
  const redis = await redisFor(t);
  const { opened, told } = await openStore(t, { KVCACHE_URL: redis.address });
  await opened.start();
  t.same(told, [true]);
  await redis.kill();
  await until(() => told.length > 1);
  t.same(told, [true, false]);
});
