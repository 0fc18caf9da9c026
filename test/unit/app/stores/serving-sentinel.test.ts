import t from 'tap';
import { answeringServer, reply } from '../../../support/answering-server.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MASTER_NAME, startWatchedMaster } from '../../../support/redis-sentinel.ts';
import { type RedisServer, redisFor } from '../../../support/redis-server.ts';
import { countEverywhere, openServingStores } from '../../../support/serving-stores.ts';
import type { StoreOfSettings } from '../../../support/store-of-settings.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

/** The settings of a process that knows its Redis by this sentinel. */
const byName = (sentinel: string, connections: number) => ({
  KVCACHE_TYPE: 'sentinel',
  KVCACHE_URL: `${MASTER_NAME},${sentinel}`,
  KVCACHE_POOL_SIZE: String(connections),
});

/** Whether a store has connected to this server last. */
const isAt =
  (redis: RedisServer) =>
  ({ logger }: StoreOfSettings): boolean =>
    logger.lines.filter(line => line.message === 'Connected to Redis').at(-1)?.fields.server ===
    redis.address;

t.test('one thread asks the sentinels, however many there are', async t => {
  const master = await redisFor(t);
  let asked = 0;
  const sentinel = await answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    if (words[0] === 'get-master-addr-by-name') asked++;
    return reply(['127.0.0.1', String(master.port)]);
  });
  const clock = new ManualClock(1_700_000_000_000);
  const { threads } = await openServingStores(t, byName(sentinel, 4), { count: 3, clock });
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

t.test('a thread that loses its connection has the sentinels asked before it is time', async t => {
  const [first, second] = [await redisFor(t), await redisFor(t)];
  let named = first;
  let asked = 0;
  const sentinel = await answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    if (words[0] === 'get-master-addr-by-name') asked++;
    return reply(['127.0.0.1', String(named.port)]);
  });
  const clock = new ManualClock(1_700_000_000_000);
  const { primary, threads } = await openServingStores(t, byName(sentinel, 2), { count: 1, clock });
  t.equal(asked, 1);
  named = second;
  const clients = String(await first.command('CLIENT', 'LIST', 'TYPE', 'normal'))
    .trim()
    .split('\n')
    .map(line => Number(/^id=([0-9]+)/.exec(line)?.[1]))
    .sort((a, b) => a - b);
  await first.command('CLIENT', 'KILL', 'ID', clients[1]);
  await until(() => {
    if (clock.nowMs() < 1_700_000_000_990) clock.advance(10);
    return asked > 1;
  });
  t.ok(clock.nowMs() < 1_700_000_001_000, 'a regular look was not due');
  await until(() => {
    clock.advance(100);
    return [primary, ...threads].every(isAt(second));
  });
  t.same(await countEverywhere(threads, 1), [1]);
});

t.test('threads follow a failover', async t => {
  const { replica, sentinel } = await startWatchedMaster(t);
  const { threads } = await openServingStores(t, byName(sentinel.address, 4), { count: 3 });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
  await until(async () => (await replica.command('GET', 'a')) === '3');
  await sentinel.command('SENTINEL', 'FAILOVER', MASTER_NAME);
  await until(() => threads.every(isAt(replica)));
  for (const { opened } of threads) await untilCounted(opened.store, ONE);
  t.equal(await replica.command('GET', 'a'), '6');
});

t.test('threads follow a master that was killed', async t => {
  const { master, replica, sentinel } = await startWatchedMaster(t);
  const { threads } = await openServingStores(t, byName(sentinel.address, 4), { count: 3 });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
  await until(async () => (await replica.command('GET', 'a')) === '3');
  await master.kill();
  for (const { opened } of threads) await untilCounted(opened.store, ONE);
  t.equal(await replica.command('GET', 'a'), '6');
});
