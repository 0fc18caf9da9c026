import t, { type Test } from 'tap';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { count } from '../../../../support/counting.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore } from '../../../../support/stores.ts';
import { until } from '../../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

async function openPool(t: Test, options: RedisStoreOptions = {}) {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const stats = new StatsRegistry();
  const clock = new ManualClock(1_700_000_000_000);
  const url = redis.address;
  const store = redisStore({ socketType: 'tcp', url, auth: '' }, { stats, clock, ...options });
  t.teardown(() => store.stop());
  await store.start();
  const active = () => new Map(stats.gauges()).get('active');
  return { redis, store, clock, active };
}

/** How many clients Redis has, this question's own not counted. */
async function clientsOf(redis: RedisServer): Promise<number> {
  const list = String(await redis.command('CLIENT', 'LIST', 'TYPE', 'normal'));
  return list.trim().split('\n').length - 1;
}

t.test('batches one after the other use one connection', async t => {
  const { redis, store, active } = await openPool(t);
  for (let i = 1; i <= 20; i++) t.same(await count(store, ONE), [i]);
  t.equal(active(), 1);
  t.equal(await clientsOf(redis), 1);
});

t.test('batches in flight open as many connections as the pool may have, which are kept', async t => {
  const { redis, store, active } = await openPool(t, { poolSize: 3 });
  while (active() !== 3) await Promise.all(Array.from({ length: 6 }, () => count(store, ONE)));
  await Promise.all(Array.from({ length: 20 }, () => count(store, ONE)));
  t.equal(active(), 3);
  t.equal(await clientsOf(redis), 3);
});

t.test('a pool of one counts batches in flight together one after the other', async t => {
  const { store, active } = await openPool(t, { poolSize: 1 });
  const counts = await Promise.all(Array.from({ length: 30 }, () => count(store, ONE)));
  t.same(
    counts.flat(),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
  t.equal(active(), 1);
});

t.test('`create`: after the wait a further connection is opened, and closed after use', async t => {
  const onEmpty = { behavior: 'create', waitMs: 1_000 } as const;
  const { redis, store, clock, active } = await openPool(t, { poolSize: 1, onEmpty });
  redis.freeze();
  const first = count(store, ONE);
  const second = count(store, ONE);
  await new Promise(resolve => setImmediate(resolve));
  t.equal(active(), 1);
  clock.advance(1_000);
  redis.thaw();
  t.same((await Promise.all([first, second])).flat(), [1, 2]);
  await until(() => active() === 1);
  t.same(await count(store, ONE), [3]);
});

t.test('`error`: after the wait the batch fails and says why', async t => {
  const onEmpty = { behavior: 'error', waitMs: 500 } as const;
  const { redis, store, clock } = await openPool(t, { poolSize: 1, onEmpty });
  redis.freeze();
  const first = count(store, ONE);
  const second = t.rejects(count(store, ONE), {
    code: 'store_failed',
    message: `Redis at ${redis.address}: the connection is in use, and none became free within 500 ms`,
  });
  clock.advance(499);
  clock.advance(1);
  await second;
  redis.thaw();
  t.same(await first, [1]);
  t.same(await count(store, ONE), [2], 'and the connection is used again');
});

t.test('`wait`: the batch waits however long it takes', async t => {
  const onEmpty = { behavior: 'wait', waitMs: 500 } as const;
  const { redis, store, clock, active } = await openPool(t, { poolSize: 1, onEmpty });
  redis.freeze();
  const both = [count(store, ONE), count(store, ONE)];
  clock.advance(3_600_000);
  redis.thaw();
  t.same((await Promise.all(both)).flat(), [1, 2]);
  t.equal(active(), 1);
});

t.test('calls that wait for a connection fail at once when Redis is lost', async t => {
  const onEmpty = { behavior: 'wait', waitMs: 0 } as const;
  const { redis, store, clock } = await openPool(t, { poolSize: 1, onEmpty });
  redis.freeze();
  const both = [count(store, ONE), count(store, ONE)];
  const failures = Promise.allSettled(both);
  await redis.kill();
  for (const failure of await failures) t.match(failure, { reason: { code: 'store_failed' } });
  t.equal(
    clock.pendingDelaysMs.length,
    2,
    'what is left are the waits for the next attempt and the next heartbeat',
  );
});

t.test('a connection to an address where nothing answers any more is no connection more', async t => {
  const onEmpty = { behavior: 'create', waitMs: 10 } as const;
  const { redis, store, clock } = await openPool(t, { poolSize: 1, onEmpty, timeoutMs: 1_000 });
  redis.freeze();
  const both = Promise.allSettled([count(store, ONE), count(store, ONE)]);
  await new Promise(resolve => setImmediate(resolve));
  clock.advance(10);
  for (const failure of await both) t.match(failure, { reason: { code: 'store_failed' } });
  redis.thaw();
});

t.test('the first connection and the loss of the last one are reported', async t => {
  const told: boolean[] = [];
  const { redis, store, active } = await openPool(t, { poolSize: 2, connected: is => told.push(is) });
  while (active() !== 2) await Promise.all(Array.from({ length: 4 }, () => count(store, ONE)));
  t.same(told, [true]);
  await redis.kill();
  await until(() => active() === 0);
  t.same(told, [true, false]);
});
