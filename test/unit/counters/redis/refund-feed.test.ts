import t, { type Test } from 'tap';
import type { FeedListener } from '../../../../src/counters/redis/refund-feed.ts';
import { count, countHoldingBack, type TestOp } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../../support/redis-sentinel.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore, type TestEndpoint } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const NO_CHANNELS = ['--user', 'deaf', 'on', 'nopass', '~*', 'resetchannels', '+@all'];
const refund = (key: string, hits: number): TestOp => ({ key, hits, isRefund: true });

/** Keeps what it is told: keys, and `down` and `up`. */
class Heard implements FeedListener {
  readonly keys: string[] = [];
  readonly states: string[] = [];

  readonly refunded = (key: Uint8Array): void => {
    this.keys.push(Buffer.from(key).toString());
  };
  readonly down = (): void => {
    this.states.push('down');
  };
  readonly up = (): void => {
    this.states.push('up');
  };

  get isUp(): boolean {
    return this.states.at(-1) === 'up';
  }
}

async function started(t: Test, endpoint: TestEndpoint, options: RedisStoreOptions = {}) {
  const store = redisStore(endpoint, options);
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

async function freshRedis(t: Test, args: readonly string[] = []): Promise<[RedisServer, TestEndpoint]> {
  const redis = await startRedis({ args });
  t.teardown(() => redis.stop());
  return [redis, { socketType: 'tcp', url: redis.address, auth: '' }];
}

for (const kind of ['one server', 'behind a sentinel', 'a cluster']) {
  t.test(`${kind}: another process hears of each key whose count a refund has lowered`, async t => {
    const heard = new Heard();
    let endpoint: TestEndpoint;
    if (kind === 'a cluster') {
      const cluster = await startCluster();
      t.teardown(() => cluster.stop());
      endpoint = { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' };
    } else if (kind === 'behind a sentinel') {
      const [redis] = await freshRedis(t);
      const sentinel = await startSentinel(redis.port);
      t.teardown(() => sentinel.stop());
      const url = `${MASTER_NAME},${sentinel.address}`;
      endpoint = { socketType: 'tcp', url, auth: '', type: 'sentinel' };
    } else [, endpoint] = await freshRedis(t);
    const refunding = await started(t, endpoint);
    await started(t, endpoint, { listener: heard });
    await until(() => heard.isUp);
    await count(
      refunding,
      ['a', 'b', 'ü', 'd'].map(key => ({ key, hits: 2 })),
    );
    await count(refunding, [
      refund('a', 1),
      refund('none', 1),
      refund('b', 0),
      refund('ü', 5),
      { key: 'd', hits: 1 },
    ]);
    await countHoldingBack(refunding, [{ held: true, ops: [refund('d', 1), { key: 'a', hits: 1 }] }]);
    await count(refunding, [refund('b', 1)]);
    await until(() => heard.keys.length >= 4);
    t.same(heard.keys.toSorted(), ['a', 'b', 'd', 'ü']);
  });
}

t.test('a connection that ends is made anew, and both are told', async t => {
  const [redis, endpoint] = await freshRedis(t);
  const heard = new Heard();
  const store = await started(t, endpoint, { listener: heard });
  await until(() => heard.isUp);
  await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await until(() => heard.states.length === 4);
  t.same(heard.states, ['down', 'up', 'down', 'up']);
  await count(store, [{ key: 'a', hits: 2 }]);
  await count(store, [refund('a', 1)]);
  await until(() => heard.keys.length === 1);
});

t.test('a server that no longer answers is found out, though its connections stay', async t => {
  const [redis, endpoint] = await freshRedis(t);
  const heard = new Heard();
  await started(t, endpoint, { listener: heard, timeoutMs: 200 });
  await until(() => heard.isUp);
  process.kill(redis.pid, 'SIGSTOP');
  t.teardown(() => process.kill(redis.pid, 'SIGCONT'));
  await until(() => !heard.isUp);
  process.kill(redis.pid, 'SIGCONT');
  await until(() => heard.isUp);
  t.same(heard.states, ['down', 'up', 'down', 'up']);
});

t.test('a user who may not subscribe is told so once, and counts as up', async t => {
  const [redis] = await freshRedis(t, NO_CHANNELS);
  const heard = new Heard();
  const logger = new KeepingLogger();
  const endpoint: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: 'deaf:' };
  const store = await started(t, endpoint, { listener: heard, logger });
  await until(() => heard.isUp);
  const said = logger.lines.filter(line => line.message.includes('refund notifications'));
  t.match(said, [
    { level: 'warning', message: /does not let this user subscribe/, fields: { address: redis.address } },
  ]);
  await count(store, [{ key: 'a', hits: 5 }]);
  t.same(await count(store, [refund('a', 2)]), [3], 'and may refund without being allowed to tell of it');
});
