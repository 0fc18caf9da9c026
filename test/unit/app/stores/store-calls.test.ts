import t, { type Test } from 'tap';
import { type CountingTime, count, NOON, type TestOp } from '../../../support/counting.ts';
import { memcachedFor } from '../../../support/memcached-server.ts';
import { clusterFor } from '../../../support/redis-cluster.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { startedStore } from '../../../support/store-of-settings.ts';

// Duration and outcome of every call of a counter store, by store.

const SECOND = 1;
const MINUTE = 2;

async function openStore(t: Test, env: Readonly<Record<string, string>>) {
  const { opened, stats } = await startedStore(t, env);
  /** Number of calls by store and outcome, without those that never happened. */
  const calls = (): Record<string, number> => {
    const all = [...stats.timers()].map(([name, { count: number }]) => [
      /^ratelimit\.store\.(.*)\.response_time$/.exec(name)?.[1] ?? name,
      number,
    ]);
    return Object.fromEntries(all.filter(([, number]) => Number(number) > 0));
  };
  const ask = (...ops: TestOp[]) => count(opened.store, ops);
  const askAt = (time: CountingTime, ...ops: TestOp[]) => count(opened.store, ops, time);
  return { ask, askAt, calls, stats };
}

t.test('Redis: a call is for a batch, and each of two instances is a store', async t => {
  const [main, perSecond] = [await redisFor(t), await redisFor(t)];
  const { ask, calls, stats } = await openStore(t, {
    KVCACHE_URL: main.address,
    KVCACHE_TIMEOUT: '100ms',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_URL: perSecond.address,
  });
  await ask({ key: 'a', hits: 1, unit: MINUTE }, { key: 'b', hits: 1, unit: MINUTE });
  t.same(calls(), { 'redis.ok': 1 });
  await ask({ key: 'c', hits: 1, unit: SECOND });
  await ask({ key: 'd', hits: 1, unit: SECOND }, { key: 'e', hits: 1, unit: MINUTE });
  t.same(calls(), { 'redis.ok': 2, 'redis_per_second.ok': 2 });

  await main.command('SET', 'text', 'no number');
  const mixed = [
    { key: 'text', hits: 1 },
    { key: 'f', hits: 1 },
  ];
  await ask(...mixed);
  t.match(calls(), { 'redis.partial': 1 });

  main.freeze();
  await t.rejects(ask({ key: 'a', hits: 1 }), /no answer within 100 ms/);
  main.thaw();
  t.match(calls(), { 'redis.timeout': 1 });
  t.ok(Number(stats.timers().get('ratelimit.store.redis.timeout.response_time')?.maxMs) >= 99);

  await main.stop();
  await t.rejects(ask({ key: 'a', hits: 1 }));
  t.match(calls(), { 'redis.ok': 2, 'redis.error': 1, 'redis_per_second.ok': 2 });
});

t.test('a Redis cluster: partial while one node does not answer', async t => {
  const cluster = await clusterFor(t, { nodes: 2 });
  const { ask, calls } = await openStore(t, {
    KVCACHE_TYPE: 'cluster',
    KVCACHE_URL: cluster.address,
    KVCACHE_TIMEOUT: '100ms',
  });
  const ops = Array.from({ length: 20 }, (_, key) => ({ key: `key ${key}`, hits: 1 }));
  await ask(...ops);
  cluster.nodes[0].freeze();
  await ask(...ops);
  cluster.nodes[1].freeze();
  await t.rejects(ask(...ops));
  for (const node of cluster.nodes) node.thaw();
  const { 'redis.timeout': timeouts = 0, 'redis.error': errors = 0, ...others } = calls();
  t.same(others, { 'redis.ok': 1, 'redis.partial': 1 });
  t.equal(timeouts + errors, 1);
});

t.test('a Redis cluster of one node that does not answer: a timeout', async t => {
  const cluster = await clusterFor(t, { nodes: 1 });
  const { ask, calls } = await openStore(t, {
    KVCACHE_TYPE: 'cluster',
    KVCACHE_URL: cluster.address,
    KVCACHE_TIMEOUT: '100ms',
  });
  cluster.nodes[0].freeze();
  await t.rejects(ask({ key: 'a', hits: 1 }));
  cluster.nodes[0].thaw();
  t.same(calls(), { 'redis.timeout': 1 });
});

t.test('memcached: the call is over when the counts are read', async t => {
  const memcached = await memcachedFor(t);
  const { ask, calls } = await openStore(t, {
    BACKEND_TYPE: 'memcache',
    MEMCACHE_HOST_PORT: memcached.address,
  });
  await ask({ key: 'a', hits: 1 }, { key: 'b', hits: 1 });
  t.same(calls(), { 'memcached.ok': 1 });
  await ask({ key: 'x'.repeat(251), hits: 1 }, { key: 'b', hits: 1 });
  t.match(calls(), { 'memcached.partial': 1 });
  memcached.freeze();
  t.same(await ask({ key: 'a', hits: 1 }), [Number.NaN]);
  memcached.thaw();
  t.match(calls(), { 'memcached.timeout': 1 });
  await memcached.stop();
  await ask({ key: 'a', hits: 1 }).catch(() => {});
  t.same(calls(), {
    'memcached.ok': 1,
    'memcached.partial': 1,
    'memcached.timeout': 1,
    'memcached.error': 1,
  });
});

t.test('embedded: at most one call in each millisecond is measured', async t => {
  const { askAt, calls } = await openStore(t, {});
  for (const nowMs of [1, 1, 1, 2, 2, 3].map(ms => NOON.nowS * 1_000 + ms)) {
    await askAt({ ...NOON, nowMs }, { key: 'a', hits: 1 });
  }
  t.same(calls(), { 'embedded.ok': 3 });
});
