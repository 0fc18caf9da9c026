import t, { type Test } from 'tap';
import { StoreHealth } from '../../../../src/app/stores/store-health.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { Health } from '../../../../src/base/health.ts';
import { OutageLog, type OutageTexts } from '../../../../src/base/outage-log.ts';
import { count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { memcachedFor } from '../../../support/memcached-server.ts';
import { clusterFor } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, sentinelFor } from '../../../support/redis-sentinel.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { startedStore } from '../../../support/store-of-settings.ts';
import { until } from '../../../support/until.ts';

// Timers of a store do not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

function healthOfStore(connectionsDecide: boolean) {
  const health = new Health();
  const log = new OutageLog({ clock: systemClock, logger: new KeepingLogger() });
  t.teardown(() => log.stop());
  const store = new StoreHealth(health, connectionsDecide, log);
  const shown = () =>
    Object.fromEntries([...health.components].map(([name, { ok, note }]) => [name, note ?? ok]));
  return { health, store, shown };
}

const textsOf = (store: string): OutageTexts => ({
  level: 'error',
  began: 'began',
  over: 'over',
  fields: { store },
});

t.test('the store works only while it does for every thread; it does not decide', async t => {
  const { health, store, shown } = healthOfStore(false);
  const texts = textsOf('main');
  t.same(shown(), { store: true });
  store.began(texts, 'no answer', false);
  t.same(shown(), { store: 'no answer' });
  store.changed(texts, 'WRONGPASS');
  t.same(shown(), { store: 'WRONGPASS' });
  store.began(texts, 'refused', false, 2);
  store.over(texts, 0);
  t.same(shown(), { store: 'refused' });
  t.ok(health.healthy);
  store.threadEnded(2);
  t.same(shown(), { store: true });
});

t.test('each of two instances counts', async t => {
  const { store, shown } = healthOfStore(false);
  store.began(textsOf('main'), 'no answer', false);
  store.began(textsOf('per second'), 'refused', false);
  store.over(textsOf('main'), 0);
  t.same(shown(), { store: 'refused' });
  store.over(textsOf('per second'), 0);
  t.same(shown(), { store: true });
});

t.test('the process is connected while any thread is, and this decides where that is asked for', async t => {
  const { health, store, shown } = healthOfStore(true);
  store.connectionsChanged(true);
  store.connectionsChanged(false, 2);
  t.ok(health.healthy, 'a thread may lose its only connection');
  store.connectionsChanged(false);
  t.notOk(health.healthy);
  t.match(shown(), { store_connection: /no connection/ });
  store.connectionsChanged(true, 2);
  t.ok(health.healthy);
  store.threadEnded(2);
  t.notOk(health.healthy, 'the connected thread is gone');
  store.connectionsChanged(true);
  t.same(shown(), { store: true, store_connection: true });
  store.began(textsOf('main'), 'refused', false);
  t.ok(health.healthy, 'a store that is connected and does not count does not decide');
});

t.test('a store that reports no connections does not decide', async t => {
  t.ok(healthOfStore(true).health.healthy);
});

/** A store of these settings, and what is told of it. */
async function opened(t: Test, env: Readonly<Record<string, string>>) {
  const { health, store: outages } = healthOfStore(false);
  const { opened: store } = await startedStore(t, env, { outages });
  const state = () => health.components.get('store');
  t.match(state(), { ok: true, note: null }, 'it works after the start');
  /** Counts until the state is this one; what could not be counted is of no interest. */
  const becomes = (ok: boolean) =>
    until(async () => {
      await count(store.store, [{ key: 'a', hits: 1 }]).catch(() => {});
      return state()?.ok === ok;
    });
  return { state, becomes, told: (ok: boolean) => until(() => state()?.ok === ok) };
}

t.test('the embedded store works', async t => {
  const { becomes } = await opened(t, {});
  await becomes(true);
});

for (const mode of ['error', 'local']) {
  t.test(`Redis that is killed, and back, with STORE_FAILURE_MODE=${mode}`, async t => {
    const redis = await redisFor(t);
    const { state, told, becomes } = await opened(t, { REDIS_URL: redis.address, STORE_FAILURE_MODE: mode });
    await redis.kill();
    await told(false);
    t.match(state()?.note, /closed|ECONN/);
    await redis.start();
    await becomes(true);
  });
}

t.test('Redis that refuses to count, and takes hits again', async t => {
  const redis = await redisFor(t);
  const { state, becomes } = await opened(t, { REDIS_URL: redis.address });
  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  await becomes(false);
  t.match(state()?.note, /OOM/);
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await becomes(true);
});

t.test('Redis for limits per second that is killed while the other works', async t => {
  const [main, perSecond] = await Promise.all([redisFor(t), redisFor(t)]);
  const { told } = await opened(t, {
    REDIS_URL: main.address,
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_URL: perSecond.address,
  });
  await perSecond.kill();
  await told(false);
  await perSecond.start();
  await told(true);
});

t.test('a cluster with a node that is killed', async t => {
  const cluster = await clusterFor(t, { nodes: 3 });
  const { told } = await opened(t, { REDIS_TYPE: 'cluster', REDIS_URL: cluster.address });
  await cluster.nodes[1].kill();
  await told(false);
  await cluster.nodes[1].start();
  await told(true);
});

t.test('a master named by a sentinel that is killed', async t => {
  const master = await redisFor(t);
  const sentinel = await sentinelFor(t, master.port, '');
  const { told } = await opened(t, {
    REDIS_TYPE: 'sentinel',
    REDIS_URL: `${MASTER_NAME},${sentinel.address}`,
  });
  await master.kill();
  await told(false);
});

t.test('one of two memcached servers that is killed, and back', async t => {
  const [one, other] = await Promise.all([memcachedFor(t), memcachedFor(t)]);
  const { told } = await opened(t, {
    BACKEND_TYPE: 'memcache',
    MEMCACHE_HOST_PORT: `${one.address},${other.address}`,
  });
  await other.kill();
  await told(false);
  await other.start();
  await told(true);
});
