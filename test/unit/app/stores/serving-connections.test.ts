import t from 'tap';
import { count } from '../../../support/counting.ts';
import { memcachedFor } from '../../../support/memcached-server.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { countEverywhere, openServingStores, upTo } from '../../../support/serving-stores.ts';
import { until } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

for (const [size, threads] of [
  [7, 3],
  [3, 3],
  [1, 2],
]) {
  t.test(`${threads} serving threads use ${size} connections together`, async t => {
    const redis = await redisFor(t);
    const env = {
      KVCACHE_URL: redis.address,
      KVCACHE_POOL_SIZE: String(size),
      KVCACHE_POOL_ON_EMPTY_BEHAVIOR: 'wait',
    };
    const process = await openServingStores(t, env, { count: threads });
    const all = [process.primary, ...process.threads];
    t.same(await countEverywhere(all), upTo(all.length * 20));
    t.equal(await redis.connections(), size);
    const active = all.map(({ stats }) => new Map(stats.gauges()).get('ratelimit.redis_pool.cx_active') ?? 0);
    t.equal(
      active.reduce((sum, each) => sum + each, 0),
      size,
      'the gauges of all threads are the connections',
    );
  });
}

t.test('a thread uses both instances of Redis itself, or hands on what belongs to either', async t => {
  const [main, perSecond] = [await redisFor(t), await redisFor(t)];
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

t.test('what a guarded store could not count is decided in the primary thread', async t => {
  const redis = await redisFor(t);
  const env = { KVCACHE_URL: redis.address, KVCACHE_POOL_SIZE: '1', STORE_FAILURE_MODE: 'local' };
  const { primary, threads } = await openServingStores(t, env, { count: 2 });
  t.same(await count(threads[0].opened.store, ONE), [1]);
  await redis.kill();
  t.same(await countEverywhere(threads, 1), [1, 2], 'counted in this process');
  t.equal(new Map(primary.stats.counters()).get('ratelimit.service.call.should_rate_limit.redis_error'), 2);
  await primary.opened.stop();
  await t.rejects(count(threads[0].opened.store, ONE), { code: 'store_failed' });
});

t.test('memcached counts the hits of all threads on the connections of the primary thread', async t => {
  const memcached = await memcachedFor(t);
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
