import t, { type Test } from 'tap';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { answeringServer, reply } from '../../../../support/answering-server.ts';
import { count } from '../../../../support/counting.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { startRedis } from '../../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore } from '../../../../support/stores.ts';
import { until } from '../../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

async function openStore(t: Test, url: string, options: RedisStoreOptions = {}) {
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url, auth: '' }, { clock, logger, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return { store, clock, logger };
}

t.test('a connection that nobody uses is not idle: it is asked for a PONG every five seconds', async t => {
  let pings = 0;
  const url = await answeringServer(t, (command, words) => {
    if (command === 'PING') pings++;
    return command === 'PING' ? '+PONG\r\n' : reply(words[1] === '0' ? [null] : [7, null]);
  });
  const { store, clock } = await openStore(t, url);
  t.equal(pings, 1, 'the greeting');
  clock.advance(4_999);
  t.same(await count(store, ONE), [7]);
  t.equal(pings, 1);
  for (const expected of [2, 3]) {
    clock.advance(expected === 2 ? 1 : 5_000);
    t.same(await count(store, ONE), [7], 'a batch follows the question, and is answered after it');
    t.equal(pings, expected);
  }
  await store.stop();
  t.equal(clock.pending, 0);
});

t.test('a connection that leads nowhere any more is found before a batch needs it', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const { clock, logger } = await openStore(t, redis.address, { timeoutMs: 2_000 });
  redis.freeze();
  clock.advance(5_000);
  await until(() => logger.messages('error').includes('Redis is unavailable'));
  redis.thaw();
});

t.test('without a bound on answers it is asked once, and not again before it has answered', async t => {
  let pings = 0;
  const url = await answeringServer(t, (command, words) => {
    if (command === 'PING') return ++pings === 1 ? '+PONG\r\n' : undefined;
    return reply(words[1] === '0' ? [null] : [7, null]);
  });
  const { store, clock } = await openStore(t, url, { timeoutMs: 0 });
  clock.advance(50_000);
  const failed = t.rejects(count(store, ONE), { code: 'store_failed' });
  await until(() => pings === 2);
  await store.stop();
  await failed;
  t.equal(pings, 2);
});

t.test('what became a replica without its master is left before a batch needs it', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const stats = new StatsRegistry();
  const { clock } = await openStore(t, redis.address, { stats });
  await redis.command('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  clock.advance(5_000);
  await until(() => new Map(stats.gauges()).get('active') === 0);
});
