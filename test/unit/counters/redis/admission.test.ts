import t, { type Test } from 'tap';
import type { AdmissionTerms } from '../../../../src/counters/admission/admission.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { admit, admitHoldingBack, atMs, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { aftersOf, batchOf, NOON, type TestOp } from '../../../support/counting.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../../support/redis-sentinel.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { PLAIN_USER, redisStore, type TestEndpoint, WITHOUT_SCRIPTS } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const redis = await startRedis({ args: WITHOUT_SCRIPTS });
/** A user who may run scripts and may not load them. */
const NOT_LOADING = ['--user', 'unloading', 'on', 'nopass', '~*', '+@all', '-script'];
const cluster = await startCluster({ args: [...WITHOUT_SCRIPTS, ...NOT_LOADING] });
const sentinel = await startSentinel(redis.port);
t.teardown(() => Promise.all([redis.stop(), cluster.stop(), sentinel.stop()]));

const SERVER: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: '' };
const CLUSTER: TestEndpoint = { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' };
const MASTER: TestEndpoint = {
  socketType: 'tcp',
  url: `${MASTER_NAME},${sentinel.address}`,
  auth: '',
  type: 'sentinel',
};
const ENDPOINTS = { 'one server': SERVER, 'a cluster': CLUSTER, 'the master of a sentinel': MASTER };

async function open(t: Test, endpoint: TestEndpoint): Promise<CounterStore> {
  const store = redisStore(endpoint, { jitterS: 1 });
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

/** Sends a command to the server, or the node, that has the key. */
async function command(endpoint: TestEndpoint, name: string, key: string, ...args: string[]) {
  const server = endpoint.type === 'cluster' ? cluster.nodes[await cluster.owner(key)] : redis;
  return server.command(name, key, ...args);
}

const NOON_MS = NOON.nowS * 1_000;
/** A token takes a second, or 8571 3/7 milliseconds. */
const BUCKET = tokenBucket(10, 10);
const SEVEN = tokenBucket(7, 60);
const WINDOW = slidingWindow(10, 10);

for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
  t.test(name, async t => {
    const servers = [redis, ...cluster.nodes];
    t.beforeEach(async () => {
      await Promise.all(servers.map(server => server.command('FLUSHALL')));
      await Promise.all(servers.map(server => server.command('SCRIPT', 'FLUSH')));
    });
    const state = (key: string) => command(endpoint, 'GET', key);
    const secondsToLive = async (key: string) => Number(await command(endpoint, 'TTL', key));

    t.test('a bucket is the time when it is full again, with the rest if there can be one', async t => {
      const store = await open(t, endpoint);
      await admit(store, [
        { key: 'b', hits: 3, terms: BUCKET },
        { key: 's', hits: 1, terms: SEVEN },
      ]);
      t.equal(await state('b'), `${NOON_MS + 3_000}`);
      t.equal(await state('s'), `${NOON_MS + 8_571} 3`);
    });

    t.test('a sliding window is its start, the hits of the previous window and its own', async t => {
      const store = await open(t, endpoint);
      const op = { key: 'w', hits: 3, terms: WINDOW };
      await admit(store, [op]);
      t.equal(await state('w'), `${NOON.nowS} 0 3`);
      await admit(store, [{ ...op, hits: 2 }], atMs(12_500));
      t.equal(await state('w'), `${NOON.nowS + 10} 3 2`);
    });

    t.test('what admits nothing and gives nothing back creates no key', async t => {
      const store = await open(t, endpoint);
      for (const terms of [BUCKET, WINDOW]) {
        const op = (hits: number, isRefund = false): TestOp => ({ key: 'x', hits, isRefund, terms });
        await admit(store, [op(0), op(11), op(4, true)]);
        await admitHoldingBack(store, [{ held: true, ops: [op(1)] }, { ops: [op(0), op(11), op(4, true)] }]);
        t.equal(await command(endpoint, 'EXISTS', 'x'), 0);
      }
    });

    t.test('a bucket lives until it is full, and up to two minutes longer', async t => {
      const store = await open(t, endpoint);
      const op = { key: 'b', hits: 1, terms: tokenBucket(60, 3_600) };
      for (const [ms, fullS] of [
        [0, 60],
        [1_000, 120],
        [400_000, 460],
        [401_000, 520],
      ]) {
        await admit(store, [op], atMs(ms));
        const left = await secondsToLive('b');
        const neededS = fullS - ms / 1_000;
        t.ok(left > neededS && left <= neededS + 120, `${left} s left, ${neededS} s needed`);
      }
    });

    t.test('a change that leaves the minute leaves the time to live', async t => {
      const store = await open(t, endpoint);
      await admit(store, [{ key: 'b', hits: 1, terms: BUCKET }], atMs(0));
      await admit(store, [{ key: 'w', hits: 1, terms: WINDOW }], atMs(0));
      for (const key of ['b', 'w']) await command(endpoint, 'EXPIRE', key, '50');
      for (const ops of [[{ key: 'b', hits: 1, terms: BUCKET }], [{ key: 'w', hits: 1, terms: WINDOW }]]) {
        await admit(store, ops, atMs(500));
        await admitHoldingBack(store, [{ ops }], atMs(700));
      }
      for (const key of ['b', 'w']) {
        const left = await secondsToLive(key);
        t.ok(left > 0 && left <= 50, `${left} s`);
      }
      t.equal(await state('b'), `${NOON_MS + 3_000}`);
      t.equal(await state('w'), `${NOON.nowS} 0 3`);
    });

    t.test('a sliding window lives until two windows after its start, with jitter', async t => {
      const store = await open(t, endpoint);
      const op = { key: 'w', hits: 1, terms: slidingWindow(100, 10) };
      for (const [ms, ttlS, least] of [
        [4_000, 25, 21],
        [13_000, 29, 26],
        [19_999, 20, 11],
        [29_000, 5, 11],
      ]) {
        await command(endpoint, 'PERSIST', 'w');
        const before = await command(endpoint, 'GET', 'w');
        await admit(store, [op], { ...atMs(ms), ttlS });
        const left = await secondsToLive('w');
        const sameWindow = String(before).startsWith(`${NOON.nowS + Math.floor(ms / 10_000) * 10} `);
        t.ok(sameWindow ? left === -1 : left >= least - 1 && left <= least, `${left} s`);
      }
    });

    t.test('a value of another program fails alone, and stays', async t => {
      const store = await open(t, endpoint);
      await command(endpoint, 'SET', 'text', 'no number');
      await command(endpoint, 'SET', 'negative', '-5');
      await command(endpoint, 'LPUSH', 'list', 'x');
      for (const [terms, unit] of [
        [BUCKET, 1_000],
        [WINDOW, 1],
      ] as const) {
        for (const hits of [1, 0]) {
          const keys = ['text', 'negative', 'list', `good${unit}${hits}`];
          const group = { ops: keys.map(key => ({ key, hits, terms })) };
          const batch = batchOf([group], atMs(0));
          const failing = [Number.NaN, Number.NaN, Number.NaN];
          await store.increment(batch);
          t.strictSame(aftersOf(batch), [...failing, hits * unit]);
          t.match(batch.failureText, /WRONGTYPE|value is not the state of a/);
          const held = await admitHoldingBack(store, [group]);
          t.strictSame(held.afters, [...failing, 2 * hits * unit]);
          await store.read?.(batch);
          t.strictSame(Array.from(batch.counts.subarray(0, 4)), [...failing, 2 * hits * unit]);
        }
      }
      t.equal(await state('text'), 'no number');
      t.equal(await state('negative'), '-5');
      t.equal(await command(endpoint, 'LLEN', 'list'), 1);
    });

    t.test('after a clock was set back, limits go on from the present time', async t => {
      const store = await open(t, endpoint);
      const op = (terms: AdmissionTerms, hits = 1) => ({ key: `k${terms.admission}`, hits, terms });
      for (const admitNow of [
        async (ms: number) => (await admit(store, [op(BUCKET), op(WINDOW)], atMs(ms))).refused,
        async (ms: number) =>
          (await admitHoldingBack(store, [{ ops: [op(BUCKET)] }, { ops: [op(WINDOW)] }], atMs(ms))).refused,
      ]) {
        await admit(store, [op(BUCKET, 10), op(WINDOW, 10)], atMs(3_600_000));
        t.same(await admitNow(0), [true, true]);
        t.same(await admitNow(1_000), [false, true]);
        t.same(await admitNow(11_000), [false, false]);
        t.ok((await secondsToLive('k1')) <= 61 && (await secondsToLive('k2')) <= 180);
      }
    });

    t.test('a process whose clock is behind opens no limit that another one has used up', async t => {
      const store = await open(t, endpoint);
      for (const [i, terms] of [BUCKET, WINDOW, slidingWindow(10, 1), tokenBucket(10, 1)].entries()) {
        const op = { key: `k${i}`, hits: 1, terms };
        await admit(store, [{ ...op, hits: 10 }], atMs(20_000));
        for (let time = 0; time < 3; time++) {
          t.same((await admit(store, [op, op], atMs(0))).refused, [true, true]);
          t.same((await admitHoldingBack(store, [{ ops: [op] }], atMs(0))).refused, [true]);
          t.same((await admit(store, [op], atMs(20_000))).refused, [true], `limit ${i}`);
        }
        await admit(store, [{ ...op, isRefund: true }], atMs(0));
        t.same(
          (await admit(store, [op, op], atMs(20_000))).refused,
          [false, true],
          'what it gives back is free',
        );
      }
    });

    t.test('processes that count in one Redis together admit the limit, exactly', async t => {
      const stores = await Promise.all([open(t, endpoint), open(t, endpoint)]);
      const keys = Array.from({ length: 12 }, (_, i) => ({
        key: `k${i}`,
        hits: 1,
        terms: i % 2 === 0 ? tokenBucket(250, 3_600) : slidingWindow(250, 3_600),
      }));
      const admitted = new Map<string, number>();
      const load = async (store: CounterStore) => {
        for (let round = 0; round < 40; round++) {
          const { refused } = await admit(store, [...keys, ...keys], atMs(round));
          for (const [op, isRefused] of refused.entries()) {
            const { key } = keys[op % keys.length];
            if (!isRefused) admitted.set(key, (admitted.get(key) ?? 0) + 1);
          }
        }
      };
      await Promise.all([...stores, ...stores].map(load));
      t.same(
        [...admitted.values()],
        keys.map(() => 250),
      );
    });

    t.test('thousands of keys are in one batch', async t => {
      const store = await open(t, endpoint);
      const ops = Array.from({ length: 6_000 }, (_, i) => ({
        key: `key-${i}`,
        hits: i % 5,
        ...(i % 3 === 0 ? null : { terms: i % 3 === 1 ? BUCKET : WINDOW }),
      }));
      const expected = ops.map(({ hits, terms }) => hits * (terms?.scale ?? 1));
      t.same((await admit(store, ops)).afters, expected);
      const held = await admitHoldingBack(
        store,
        ops.map(op => ({ ops: [{ ...op, hits: 0 }] })),
      );
      t.same(held.afters, expected);
    });
  });
}

t.test('users who may not run scripts: the limits that need them say so, the others are counted', async t => {
  const users: Readonly<Record<string, TestEndpoint>> = {
    'one server': { ...SERVER, auth: PLAIN_USER },
    'a cluster': { ...CLUSTER, auth: PLAIN_USER },
    'the master of a sentinel': { ...MASTER, auth: PLAIN_USER },
    'a cluster that loads no scripts': { ...CLUSTER, auth: 'unloading:' },
  };
  for (const [name, endpoint] of Object.entries(users)) {
    await Promise.all([redis, ...cluster.nodes].map(node => node.command('FLUSHALL')));
    await Promise.all(cluster.nodes.map(node => node.command('SCRIPT', 'FLUSH')));
    const store = await open(t, endpoint);
    const ops = [
      { key: 'plain', hits: 2 },
      { key: 'bucket', hits: 1, terms: BUCKET },
      { key: 'window', hits: 1, terms: WINDOW },
      { key: 'plain', hits: 1, isRefund: true },
    ];
    const batch = batchOf([{ ops }], atMs(0));
    await store.increment(batch);
    t.strictSame(aftersOf(batch), [2, Number.NaN, Number.NaN, 1], name);
    t.match(
      batch.failureText,
      /^ERR sliding windows, token buckets and penalties need scripts: allow this user EVALSHA/,
    );
    const held = await admitHoldingBack(store, [{ ops: ops.slice(0, 3) }]);
    t.strictSame(held.afters, [3, Number.NaN, Number.NaN], name);
    const alone = batchOf([{ ops: [ops[1]] }], atMs(0));
    await store.increment(alone);
    t.match(alone.failureText, /need scripts/, name);
    await store.read?.(batch);
    t.same(Array.from(batch.counts.subarray(0, 3)), [3, 0, 0], 'reading needs no script');
  }
});

t.test('the commands that the documentation lists are sufficient', async t => {
  const commands = 'ping get mget set setrange incrby expire ttl publish eval evalsha'.split(' ');
  const allowed = ['~*', '&sluice:refunds', ...commands.map(command => `+${command}`)];
  await redis.command('ACL', 'SETUSER', 'listed', 'on', 'nopass', ...allowed);
  const store = await open(t, { ...SERVER, auth: 'listed:' });
  await redis.command('FLUSHALL');
  const ops = [
    { key: 'plain', hits: 2 },
    { key: 'b', hits: 2, terms: BUCKET },
    { key: 'w', hits: 2, terms: WINDOW },
  ];
  for (const hits of [2, 4]) t.same((await admit(store, ops)).afters, [hits, hits * 1_000, hits]);
  t.same((await admitHoldingBack(store, [{ ops }])).afters, [6, 6_000, 6]);
  const refunds = ops.map(op => ({ ...op, isRefund: true }));
  t.same((await admit(store, refunds)).afters, [4, 4_000, 4]);
});

t.test('a refund is published, so that local caches of other processes drop the key', async t => {
  for (const endpoint of Object.values(ENDPOINTS)) {
    await redis.command('FLUSHALL');
    const keys: string[] = [];
    let isUp = false;
    const listener = {
      refunded: (key: Uint8Array) => keys.push(Buffer.from(key).toString()),
      down: () => {},
      up: () => {
        isUp = true;
      },
    };
    const store = redisStore(endpoint, { listener });
    t.teardown(() => store.stop());
    await store.start();
    await until(() => isUp);
    const op = (key: string, hits: number, isRefund = false) => ({
      key,
      hits,
      isRefund,
      terms: key.startsWith('b') ? BUCKET : WINDOW,
    });
    await admit(store, [op('b1', 5), op('w1', 5), op('b2', 5)]);
    await admit(store, [op('b1', 2, true), op('w1', 2, true), op('b3', 2, true)]);
    await admitHoldingBack(store, [{ ops: [op('b2', 2, true), op('b3', 2, true)] }]);
    await until(() => keys.length >= 3);
    t.same(keys.sort(), ['b1', 'b2', 'w1']);
  }
});

t.test('Redis killed under load: no more is admitted than the limit of each of its lives', async t => {
  const failing = await startRedis();
  t.teardown(() => failing.stop());
  const store = await open(t, { socketType: 'tcp', url: failing.address, auth: '' });
  const ops = [tokenBucket(500, 3_600), slidingWindow(500, 3_600)].map((terms, i) => ({
    key: `k${i}`,
    hits: 1,
    terms,
  }));
  const lives = [
    [0, 0],
    [0, 0],
  ];
  let errors = 0;
  const load = async (life: number, rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      try {
        const { refused } = await admit(store, ops);
        for (const op of [0, 1]) if (!refused[op]) lives[life][op]++;
      } catch {
        errors++;
      }
    }
  };
  const running = Promise.all(Array.from({ length: 8 }, () => load(0, 200)));
  await until(() => lives[0][0] > 200);
  await failing.kill();
  await running;
  await failing.restart();
  await until(async () => {
    try {
      await admit(store, [{ ...ops[0], hits: 0 }]);
      return true;
    } catch {
      return false;
    }
  });
  await Promise.all(Array.from({ length: 8 }, () => load(1, 100)));
  t.ok(errors > 0, 'the kill was felt');
  t.ok(Math.max(...lives[0]) <= 500);
  t.same(lives[1], [500, 500], 'after the restart the limits are whole, and each request counts once');
});

t.test('a limit of a slot that moves goes along, and no request is counted twice', async t => {
  const store = await open(t, CLUSTER);
  await cluster.flush();
  const slot = await cluster.slot('{moving}b');
  const from = await cluster.owner('{moving}b');
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]];
  const forget = () => Promise.all(cluster.nodes.map(node => node.command('SCRIPT', 'FLUSH')));
  const ops = (hits: number) => [
    { key: '{moving}b', hits, terms: BUCKET },
    { key: '{moving}w', hits, terms: WINDOW },
    { key: 'stays', hits, terms: BUCKET },
  ];
  const levels = (hits: number) => [hits * 1_000, hits, hits * 1_000];
  t.same((await admit(store, ops(2))).afters, levels(2));
  await cluster.startMoving(slot, from, to);
  await forget();
  t.same((await admit(store, ops(1))).afters, levels(3), 'still at the old node');
  const fresh = { key: '{moving}new', hits: 1, terms: BUCKET };
  t.same((await admit(store, [fresh])).afters, [1_000], 'a new key is created at the new one: ASK');
  t.equal(await target.command('CLUSTER', 'COUNTKEYSINSLOT', slot), 1);

  await source.command('MIGRATE', '127.0.0.1', target.port, '', 0, 5_000, 'KEYS', '{moving}b', '{moving}w');
  await forget();
  t.same((await admit(store, ops(2))).afters, levels(5), 'at the new one already: ASK');
  t.same((await admitHoldingBack(store, [{ ops: ops(1) }])).afters, levels(6));

  await cluster.finishMoving(slot, to);
  t.same((await admit(store, ops(4))).afters, levels(10), 'only at the new one: MOVED');
  t.same((await admit(store, ops(1))).refused, [true, true, true]);
});
