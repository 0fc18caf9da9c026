import t, { type Test } from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import { counterStoreExam } from '../../../exam/counter-store.ts';
import { admit, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { answeringServer } from '../../../support/answering-server.ts';
import { aftersOf, batchOf, count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MASTER_NAME, startSentinel, startWatchedMaster } from '../../../support/redis-sentinel.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { replicated } from '../../../support/replicated.ts';
import { IN_REDIS, type RedisStoreOptions, redisStore } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

async function openStore(t: Test, sentinels: string, options: RedisStoreOptions = {}) {
  const logger = new KeepingLogger();
  const url = `${MASTER_NAME},${sentinels}`;
  const store = redisStore({ type: 'sentinel', socketType: 'unix', url, auth: '' }, { logger, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return { store, logger };
}

t.test('the exam of counter stores', async t => {
  const master = await startRedis();
  t.teardown(() => master.stop());
  const sentinel = await startSentinel(master.port);
  t.teardown(() => sentinel.stop());
  await t.test('over a sentinel', async t =>
    counterStoreExam(
      t,
      async inner => {
        await master.command('FLUSHALL');
        return (await openStore(inner, sentinel.address)).store;
      },
      IN_REDIS,
    ),
  );
});

t.test('a master that is killed under load is followed by the replica that becomes master', async t => {
  const { master, replica, sentinel } = await startWatchedMaster(t);
  const { store } = await openStore(t, sentinel.address);
  const seen: number[] = [];
  let failures = 0;
  let stopped = false;
  const load = async () => {
    while (!stopped) {
      const batch = batchOf([{ ops: ONE }]);
      try {
        await store.increment(batch);
        seen.push(...aftersOf(batch));
      } catch (failure) {
        if (!(failure instanceof Fault && failure.code === 'store_failed')) throw failure;
        failures++;
        await new Promise(resolve => setImmediate(resolve));
      }
    }
  };
  const running = Promise.all([load(), load()]);
  await until(() => seen.length > 50);
  await master.kill();
  // Every connection to the old master is gone by then, and so are its answers.
  await until(() => failures > 20);
  const before = seen.length;
  await until(() => seen.length > before + 50);
  stopped = true;
  await running;
  const after = seen.slice(before);
  t.equal(await replica.command('GET', 'a'), String(Math.max(...after)), 'the new master has the counts');
  t.equal(new Set(after).size, after.length, 'which it gave once each');
});

t.test('a failover that an operator asks for is followed too', async t => {
  const { master, replica, sentinel } = await startWatchedMaster(t);
  const { store, logger } = await openStore(t, sentinel.address);
  t.same(await count(store, ONE), [1]);
  await replicated(master);
  await sentinel.command('SENTINEL', 'FAILOVER', MASTER_NAME);
  const connected = () => logger.lines.filter(line => line.message === 'Connected to Redis');
  await until(() => connected().length > 1 && connected().at(-1)?.fields.server === replica.address);
  t.ok((await untilCounted(store, ONE))[0] >= 2);
  t.equal(connected()[0].fields.server, master.address);
});

t.test('sliding windows and token buckets are as full after a failover as before', async t => {
  const { master, replica, sentinel } = await startWatchedMaster(t);
  const { store, logger } = await openStore(t, sentinel.address);
  const ops = [tokenBucket(10, 10), slidingWindow(10, 10)].map((terms, i) => ({
    key: `k${i}`,
    hits: 4,
    terms,
  }));
  t.match(await admit(store, [...ops, ...ops]), { afters: [4_000, 4, 8_000, 8] });
  await replicated(master);
  await sentinel.command('SENTINEL', 'FAILOVER', MASTER_NAME);
  const connected = () => logger.lines.filter(line => line.message === 'Connected to Redis');
  await until(() => connected().at(-1)?.fields.server === replica.address);
  // No script has been sent to this server yet.
  t.match(await admit(store, ops), { afters: [8_000, 8], refused: [true, true] });
  t.match(
    await admit(
      store,
      ops.map(op => ({ ...op, hits: 2 })),
    ),
    { afters: [10_000, 10], refused: [false, false] },
  );
});

t.test('the other sentinels are learned from the one that is known', async t => {
  const { master, sentinel } = await startWatchedMaster(t);
  const second = await startSentinel(master.port);
  t.teardown(() => second.stop());
  const knows = async () => ((await sentinel.command('SENTINEL', 'SENTINELS', MASTER_NAME)) as []).length > 0;
  while (!(await knows()));
  const { store } = await openStore(t, sentinel.address);
  await sentinel.stop();
  t.same(await count(store, ONE), [1]);
  await master.command('CLIENT', 'KILL', 'TYPE', 'normal');
  t.ok((await untilCounted(store, ONE))[0] >= 2, 'the second sentinel named the master');
});

t.test('a master that the sentinels no longer name is left, although it still answers', async t => {
  const [first, second] = [await startRedis(), await startRedis()];
  t.teardown(() => first.stop());
  t.teardown(() => second.stop());
  let named = first.port;
  const sentinel = await answeringServer(t, command =>
    command === 'PING' ? '+PONG\r\n' : `*2\r\n$9\r\n127.0.0.1\r\n$${String(named).length}\r\n${named}\r\n`,
  );
  const clock = new ManualClock(1_700_000_000_000);
  const refunded: string[] = [];
  const states: string[] = [];
  const listener = {
    refunded: (key: Uint8Array) => refunded.push(Buffer.from(key).toString()),
    down: () => states.push('down'),
    up: () => states.push('up'),
  };
  const { store, logger } = await openStore(t, sentinel, { clock, listener });
  t.same(await count(store, ONE), [1]);
  await until(() => states.length === 2);
  named = second.port;
  const warned = () => logger.messages('error').includes('Redis is unavailable');
  await until(() => {
    clock.advance(100);
    return warned();
  });
  await until(() => {
    clock.advance(100);
    return logger.messages('error').includes('Redis is available again');
  });
  t.same(await count(store, ONE), [1]);
  t.equal(await second.command('GET', 'a'), '1');
  await until(() => {
    clock.advance(100);
    return states.length === 4;
  });
  t.same(states, ['down', 'up', 'down', 'up'], 'notifications of refunds come from the new master');
  t.same(await count(store, [{ key: 'a', hits: 1, isRefund: true }]), [0]);
  await until(() => refunded.length === 1);
});

t.test('a replica that a sentinel takes for the master is refused', async t => {
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', '1'] });
  t.teardown(() => replica.stop());
  const sentinel = await answeringServer(t, command =>
    command === 'PING'
      ? '+PONG\r\n'
      : `*2\r\n$9\r\n127.0.0.1\r\n$${String(replica.port).length}\r\n${replica.port}\r\n`,
  );
  const store = redisStore(
    { type: 'sentinel', socketType: 'tcp', url: `${MASTER_NAME},${sentinel}`, auth: '' },
    { startMaxElapsedMs: 30 },
  );
  t.teardown(() => store.stop());
  await t.rejects(store.start(), { message: /it is not a master; its role is `slave`/ });
});

t.test('sentinels have a password of their own, which is never printed', async t => {
  const master = await startRedis({ args: ['--requirepass', 'm4ster'] });
  t.teardown(() => master.stop());
  const sentinel = await startSentinel(master.port, 's3ntinel');
  t.teardown(() => sentinel.stop());
  const url = `${MASTER_NAME},${sentinel.address}`;
  const endpoint = { type: 'sentinel', socketType: 'tcp', url, auth: 'm4ster' } as const;
  const store = redisStore({ ...endpoint, sentinelAuth: 's3ntinel' });
  t.teardown(() => store.stop());
  await store.start();
  t.same(await count(store, ONE), [1]);

  const logger = new KeepingLogger();
  const without = redisStore({ ...endpoint, sentinelAuth: 'wr0ng' }, { logger, startMaxElapsedMs: 30 });
  t.teardown(() => without.stop());
  await t.rejects(without.start(), { message: /no sentinel knows the master .*WRONGPASS/ });
  t.notMatch(JSON.stringify(logger.lines), /wr0ng|m4ster/);
});

t.test('sentinels that know no such master say so', async t => {
  const master = await startRedis();
  t.teardown(() => master.stop());
  const sentinel = await startSentinel(master.port);
  t.teardown(() => sentinel.stop());
  const store = redisStore(
    { type: 'sentinel', socketType: 'tcp', url: `other,${sentinel.address}`, auth: '' },
    { startMaxElapsedMs: 30 },
  );
  t.teardown(() => store.stop());
  await t.rejects(store.start(), {
    message: new RegExp(`no sentinel knows the master other: ${sentinel.address}: it knows no master`),
  });
});
