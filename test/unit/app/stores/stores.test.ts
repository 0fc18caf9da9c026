import t from 'tap';
import { loadStoreFactory } from '../../../../src/app/stores/stores.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startRedis } from '../../../support/redis-server.ts';

t.test('the settings lead to Redis, and its connections are counted by the names in use', async t => {
  const redis = await startRedis({ args: ['--requirepass', 's3cret'] });
  t.teardown(() => redis.stop());
  const stats = new StatsRegistry();
  const settings = loadSettings({ REDIS_URL: `redis://${redis.address}/2`, REDIS_AUTH: 's3cret' });
  const createStore = await loadStoreFactory(settings);
  const opened = createStore({
    settings,
    logger: new KeepingLogger(),
    outages: new OutageLog({ clock: systemClock, logger: new KeepingLogger() }),
    clock: systemClock,
    random: () => 0.5,
    stats,
  });
  t.teardown(() => opened.stop());
  await opened.start();
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
