import t, { type Test } from 'tap';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { aftersOf, batchOf, count, countHoldingBack, type TestOp } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { PLAIN_USER, redisStore, type TestEndpoint, WITHOUT_SCRIPTS } from '../../../support/stores.ts';

const redis = await startRedis({ args: WITHOUT_SCRIPTS });
/** A user who may run scripts and may not load them. */
const NOT_LOADING = ['--user', 'unloading', 'on', 'nopass', '~*', '+@all', '-script'];
const cluster = await startCluster({ args: [...WITHOUT_SCRIPTS, ...NOT_LOADING] });
t.teardown(() => Promise.all([redis.stop(), cluster.stop()]));

const SERVERS: Readonly<Record<string, TestEndpoint>> = {
  'one server': { socketType: 'tcp', url: redis.address, auth: '' },
  'one server, without scripts': { socketType: 'tcp', url: redis.address, auth: PLAIN_USER },
  'a cluster': { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' },
  'a cluster, without scripts': {
    socketType: 'tcp',
    url: cluster.address,
    auth: PLAIN_USER,
    type: 'cluster',
  },
  'a cluster that loads no scripts': {
    socketType: 'tcp',
    url: cluster.address,
    auth: 'unloading:',
    type: 'cluster',
  },
};

const refund = (key: string, hits: number): TestOp => ({ key, hits, isRefund: true });

async function open(t: Test, endpoint: TestEndpoint): Promise<CounterStore> {
  const store = redisStore(endpoint, { jitterS: 1 });
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

/** Sends a command to the server, or the node, that has the key. */
async function command(
  endpoint: TestEndpoint,
  name: string,
  key: string,
  ...args: string[]
): Promise<unknown> {
  const server = endpoint.type === 'cluster' ? cluster.nodes[await cluster.owner(key)] : redis;
  return server.command(name, key, ...args);
}

for (const [name, endpoint] of Object.entries(SERVERS)) {
  t.test(name, async t => {
    t.beforeEach(async () => {
      const servers = [redis, ...cluster.nodes];
      await Promise.all(servers.map(server => server.command('FLUSHALL')));
      await Promise.all(servers.map(server => server.command('SCRIPT', 'FLUSH')));
    });

    t.test('a key that is only refunded stays absent, also when hits of others are held back', async t => {
      const store = await open(t, endpoint);
      t.same(await count(store, [refund('a', 3), refund('b', 0), { key: 'c', hits: 1 }]), [0, 0, 1]);
      await countHoldingBack(store, [{ held: true, ops: [refund('a', 1), { key: 'c', hits: 1 }] }]);
      t.equal(await command(endpoint, 'EXISTS', 'a'), 0);
      t.equal(await command(endpoint, 'EXISTS', 'b'), 0);
    });

    t.test('a refund neither makes nor changes a time to live', async t => {
      const store = await open(t, endpoint);
      await count(store, [{ key: 'a', hits: 5 }]);
      await command(endpoint, 'EXPIRE', 'a', '17');
      await command(endpoint, 'SET', 'b', '5');
      t.same(await count(store, [refund('a', 9), refund('b', 1)]), [0, 4]);
      await countHoldingBack(store, [{ ops: [refund('b', 1)] }]);
      const left = Number(await command(endpoint, 'TTL', 'a'));
      t.ok(left > 0 && left <= 17, `${left} s left of 17`);
      t.equal(await command(endpoint, 'TTL', 'b'), -1);
      t.equal(await command(endpoint, 'GET', 'b'), '3');
    });

    t.test('hits behind a refund make the key, with its time to live', async t => {
      const store = await open(t, endpoint);
      t.same(await count(store, [refund('a', 2), { key: 'a', hits: 3 }, refund('a', 1)]), [0, 3, 2]);
      t.equal(await command(endpoint, 'GET', 'a'), '2');
      const left = Number(await command(endpoint, 'TTL', 'a'));
      t.ok(left > 50 && left <= 61, `${left} s`);
    });

    t.test('a key that is no count fails by itself', async t => {
      const store = await open(t, endpoint);
      await command(endpoint, 'SET', 'text', 'no number');
      await command(endpoint, 'LPUSH', 'list', 'x');
      const batch = batchOf([
        { ops: [refund('text', 1), refund('list', 1), { key: 'a', hits: 2 }, refund('a', 1)] },
      ]);
      await store.increment(batch);
      t.strictSame(aftersOf(batch), [Number.NaN, Number.NaN, 2, 1]);
      t.match(batch.failureText, /WRONGTYPE|not an integer/);
    });

    t.test('processes that give the same hits back at the same time leave no count below 0', async t => {
      const stores = await Promise.all([open(t, endpoint), open(t, endpoint)]);
      for (let round = 0; round < 20; round++) {
        await count(stores[0], [{ key: 'a', hits: 3 }]);
        await Promise.all(stores.map(store => count(store, [refund('a', 3)])));
        t.equal(await command(endpoint, 'GET', 'a'), '0', `round ${round}`);
        await command(endpoint, 'DEL', 'a');
      }
    });

    t.test('thousands of keys are refunded in one batch', async t => {
      const store = await open(t, endpoint);
      const keys = Array.from({ length: 6_000 }, (_, i) => `key-${i}`);
      await count(
        store,
        keys.map((key, i) => ({ key, hits: i % 5 })),
      );
      const left = await count(
        store,
        keys.map(key => refund(key, 2)),
      );
      t.same(
        left,
        keys.map((_, i) => Math.max((i % 5) - 2, 0)),
      );
    });
  });
}

t.test('a cluster that does not run scripts for this user is in the log, once', async t => {
  for (const name of ['a cluster, without scripts', 'a cluster that loads no scripts']) {
    await Promise.all(cluster.nodes.map(node => node.command('SCRIPT', 'FLUSH')));
    const logger = new KeepingLogger();
    const store = redisStore(SERVERS[name], { logger });
    t.teardown(() => store.stop());
    await store.start();
    for (let i = 0; i < 2; i++) await count(store, [refund('a', 1), refund('b', 1)]);
    const warnings = logger.lines.filter(line => line.level === 'warning');
    t.match(warnings, [{ message: /cluster does not run scripts/ }], name);
    t.equal(warnings.length, 1);
  }
});
