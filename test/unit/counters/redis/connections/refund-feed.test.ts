import t, { type Test } from 'tap';
import type { CountingServer } from '../../../../../src/counters/redis/connections/counting-server.ts';
import { type FeedListener, RefundFeed } from '../../../../../src/counters/redis/connections/refund-feed.ts';
import { REFUNDS_CHANNEL } from '../../../../../src/counters/redis/protocol/scripts.ts';
import { answeringServer, reply } from '../../../../support/answering-server.ts';
import { count, countHoldingBack, type TestOp } from '../../../../support/counting.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { startCluster } from '../../../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../../../support/redis-sentinel.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore, type TestEndpoint } from '../../../../support/stores.ts';
import { until } from '../../../../support/until.ts';

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
  t.test(`${kind}: another process receives each key whose count a refund has lowered`, async t => {
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

t.test('a lost connection is reopened, and the listener is notified of both', async t => {
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

for (const [what, answer] of [
  ['closes the connection on', 'close'],
  ['never answers', undefined],
] as const) {
  t.test(`a proxy that ${what} SUBSCRIBE costs nobody the local cache, as the log says`, async t => {
    let asked = 0;
    const url = await answeringServer(t, command => {
      if (command === 'SUBSCRIBE') asked++;
      if (command === 'PING') return '+PONG\r\n';
      return command === 'SUBSCRIBE' ? answer : reply([null]);
    });
    const heard = new Heard();
    const logger = new KeepingLogger();
    const endpoint: TestEndpoint = { socketType: 'tcp', url, auth: '' };
    await started(t, endpoint, { listener: heard, logger, timeoutMs: 100 });
    await until(() => heard.isUp);
    t.equal(asked, 3, 'once can be chance');
    t.same(heard.states, ['down', 'up']);
    const said = logger.lines.filter(line => line.message.includes('refund notifications'));
    t.match(
      said.filter(line => line.level !== 'debug'),
      [{ level: 'warning', message: /does not let this user subscribe/, fields: { address: url } }],
    );
  });
}

t.test('a user who may subscribe later receives refunds from then on', async t => {
  const [redis] = await freshRedis(t, NO_CHANNELS);
  const heard = new Heard();
  const clock = new ManualClock(1_700_000_000_000);
  const endpoint: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: 'deaf:' };
  const store = await started(t, endpoint, { listener: heard, clock });
  await until(() => heard.isUp);
  await redis.command('ACL', 'SETUSER', 'deaf', '&sluice:refunds');
  await until(() => {
    clock.advance(10_000);
    return heard.states.length > 2;
  });
  t.same(heard.states, ['down', 'up', 'down', 'up'], 'what was known before may be outdated');
  await count(store, [{ key: 'a', hits: 2 }]);
  await count(store, [refund('a', 1)]);
  await until(() => heard.keys.length === 1);
});

t.test('a feed that stays down while Redis counts is in the log, once', async t => {
  const heard = new Heard();
  const logger = new KeepingLogger();
  const clock = new ManualClock(1_700_000_000_000);
  let attempts = 0;
  let isUp = false;
  const source: CountingServer = {
    address: 'there',
    find: async () => {
      attempts++;
      throw new Error('max number of clients reached');
    },
    isCurrent: () => true,
    isUp: () => isUp,
    mustBeMaster: false,
  };
  const feed = new RefundFeed(source, { timeoutMs: 100, clock, logger }, heard);
  t.teardown(() => feed.stop());
  feed.start();
  const pass = (seconds: number): Promise<void> => {
    const end = clock.nowMs() + seconds * 1_000;
    return until(() => {
      clock.advance(250);
      return clock.nowMs() >= end;
    });
  };
  await pass(60);
  t.ok(attempts > 20, `${attempts} attempts`);
  t.same(logger.messages('warning'), [], 'a Redis that is away is told as that');
  isUp = true;
  await pass(60);
  t.match(logger.at('warning'), [
    {
      message: /local cache is not used/,
      fields: { address: 'there', error: 'max number of clients reached' },
    },
  ]);
});

t.test('a node of a cluster that has no slots any more is left at the first map that says so', async t => {
  const nodes: string[] = [];
  let named = [0, 1];
  let mapsWithout = 0;
  const subscribed: number[] = [];
  const startNode = (number: number): Promise<string> =>
    answeringServer(t, command => {
      if (command === 'SUBSCRIBE') {
        subscribed.push(number);
        return reply(['subscribe', REFUNDS_CHANNEL, 1]);
      }
      if (command === 'PING') return '+PONG\r\n';
      if (command !== 'CLUSTER') return ':1\r\n';
      if (named.length === 1 && ++mapsWithout > 1) return undefined;
      return reply(
        named.map((node, i) => {
          const [host, port] = nodes[node].split(':');
          return [i * 8_192, named.length === 1 ? 16_383 : i * 8_192 + 8_191, [host, Number(port), 'id']];
        }),
      );
    });
  nodes.push(await startNode(0), await startNode(1));
  const heard = new Heard();
  const clock = new ManualClock(1_700_000_000_000);
  const endpoint: TestEndpoint = { socketType: 'tcp', url: nodes.join(','), auth: '', type: 'cluster' };
  await started(t, endpoint, { listener: heard, clock });
  await until(() => heard.isUp);
  named = [0, 1].filter(node => node !== subscribed[0]);
  await until(() => {
    clock.advance(250);
    return subscribed.length === 2;
  });
  t.same(subscribed[1], named[0]);
});

t.test('a user without permission to subscribe is logged once, and the feed counts as up', async t => {
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
