import t, { type Test } from 'tap';
import { answeringServer, reply } from '../../../support/answering-server.ts';
import { count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MASTER_NAME } from '../../../support/redis-sentinel.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

/** What a sentinel says, which may change: where the master is, and in which epoch it became that. */
interface Opinion {
  host?: string;
  port: number;
  epoch: number;
}

/** A sentinel that says what the test wants, with how often it was asked. */
async function startOpinion(t: Test, opinion: Opinion) {
  let asked = 0;
  const address = await answeringServer(t, (command, [question]) => {
    if (command === 'PING') return '+PONG\r\n';
    const { host = '127.0.0.1', port, epoch } = opinion;
    if (question === 'master') return reply(['name', MASTER_NAME, 'config-epoch', String(epoch)]);
    if (question !== 'get-master-addr-by-name')
      return "-NOPERM this user has no permissions to run 'sentinel'\r\n";
    asked++;
    return reply([host, String(port)]);
  });
  return { address, asked: () => asked };
}

async function startMaster(t: Test) {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  return redis;
}

function openStore(t: Test, sentinels: readonly string[], options: RedisStoreOptions = {}) {
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const url = [MASTER_NAME, ...sentinels].join(',');
  const store = redisStore(
    { type: 'sentinel', socketType: 'tcp', url, auth: '' },
    { ...options, clock, logger },
  );
  t.teardown(() => store.stop());
  const servers = () =>
    logger.lines.flatMap(({ fields: { server } }) => (server === undefined ? [] : [server]));
  /** Lets the clock run until something holds. */
  const passing = (holds: () => boolean) =>
    until(() => {
      clock.advance(100);
      return holds();
    });
  return { store, logger, servers, passing };
}

t.test('when one sentinel names a replica the master is found by what another says', async t => {
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', '1'] });
  t.teardown(() => replica.stop());
  const master = await startMaster(t);
  const wrong = await startOpinion(t, { port: replica.port, epoch: 3 });
  const right = await startOpinion(t, { port: master.port, epoch: 3 });
  const { store, passing } = openStore(t, [wrong.address, right.address]);
  let started = false;
  const starting = store.start().then(() => {
    started = true;
  });
  await passing(() => started);
  await starting;
  t.same(await count(store, ONE), [1]);
});

t.test('a sentinel that missed a failover is not believed, also when it is the first', async t => {
  const [old, next] = [await startMaster(t), await startMaster(t)];
  const cutOff = await startOpinion(t, { port: old.port, epoch: 1 });
  const opinion = { port: old.port, epoch: 1 };
  const informed = await startOpinion(t, opinion);
  const { store, servers, passing } = openStore(t, [cutOff.address, informed.address]);
  await store.start();
  t.same(await count(store, ONE), [1]);
  Object.assign(opinion, { port: next.port, epoch: 2 });
  await passing(() => servers().length === 2);
  t.same(servers(), [old.address, next.address]);
  t.same(await count(store, ONE), [1]);
  const before = cutOff.asked();
  await passing(() => cutOff.asked() > before + 2);
  t.same(servers(), [old.address, next.address], 'nor later');
  t.same(await count(store, ONE), [2]);
});

t.test('sentinels that use different names for the same master do not cause a reconnect', async t => {
  const master = await startMaster(t);
  const byAddress = await startOpinion(t, { port: master.port, epoch: 1 });
  const byName = await startOpinion(t, { host: 'localhost', port: master.port, epoch: 1 });
  const { store, servers, passing, logger } = openStore(t, [byAddress.address, byName.address]);
  await store.start();
  await passing(() => byName.asked() > 2);
  t.equal(servers().length, 1);
  t.same(logger.messages('warning'), []);
});

t.test('sentinels that were set up anew are believed once the master is gone', async t => {
  const [old, next] = [await startMaster(t), await startMaster(t)];
  const opinion = { port: old.port, epoch: 7 };
  const sentinel = await startOpinion(t, opinion);
  const { store, servers, passing } = openStore(t, [sentinel.address]);
  await store.start();
  Object.assign(opinion, { port: next.port, epoch: 0 });
  await old.kill();
  await passing(() => servers().length === 2);
  t.same(await count(store, ONE), [1]);
  t.equal(await next.command('GET', 'a'), '1');
});

t.test('an old master is left by connections beyond the pool too, with what they wait for', async t => {
  let waiting = 0;
  const old = await answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    if (command === 'ROLE') return reply(['master']);
    if (words[1] === '0') return reply([null]);
    waiting++;
    return undefined;
  });
  const next = await startMaster(t);
  const opinion = { port: Number(old.split(':')[1]), epoch: 1 };
  const sentinel = await startOpinion(t, opinion);
  const onEmpty = { behavior: 'create', waitMs: 10 } as const;
  const { store, passing } = openStore(t, [sentinel.address], { poolSize: 1, onEmpty, timeoutMs: 0 });
  await store.start();
  const failed = Promise.allSettled([count(store, ONE), count(store, ONE)]);
  await passing(() => waiting === 2);
  Object.assign(opinion, { port: next.port, epoch: 2 });
  let left = false;
  void failed.then(() => {
    left = true;
  });
  await passing(() => left);
  for (const failure of await failed) t.match(failure, { reason: { code: 'store_failed' } });
});
