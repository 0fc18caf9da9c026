import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t from 'tap';
import { systemClock } from '../../../../src/base/clock.ts';
import { asError } from '../../../../src/base/fault.ts';
import { MemcachedConnection } from '../../../../src/counters/memcached/connection.ts';
import type { MemcachedCounterStore } from '../../../../src/counters/memcached/memcached-store.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { aftersOf, batchOf, count, NOON } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startMemcached } from '../../../support/memcached-server.ts';
import { type MemcachedStoreOptions, memcachedStore } from '../../../support/memcached-stores.ts';
import type { Teardown } from '../../../support/stores.ts';

async function openStore(t: Teardown, servers: string, options: MemcachedStoreOptions = {}) {
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const store = memcachedStore(servers, { logger, stats, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return {
    store,
    logger,
    counters: () => Object.fromEntries([...stats.counters()].filter(([, total]) => total > 0)),
  };
}

/** Counts a hit for each key, and waits until it is added. */
async function hit(store: MemcachedCounterStore, ...keys: string[]): Promise<number[]> {
  const afters = await count(
    store,
    keys.map(key => ({ key, hits: 1 })),
  );
  await store.settled();
  return afters;
}

t.test('a refund right behind the hits that make the count is not lost', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store, counters } = await openStore(t, memcached.address);
  const hits = count(store, [{ key: 'a', hits: 6 }]);
  const refund = count(store, [{ key: 'a', hits: 4, isRefund: true }]);
  await Promise.all([hits, refund]);
  await store.settled();
  t.equal(await memcached.get('a'), '2');
  await count(store, [{ key: 'none', hits: 4, isRefund: true }]);
  await store.settled();
  t.equal(counters()['ratelimit.memcache.decrement.__code=miss'], 1, 'one that finds no key gives up');
});

t.test('sliding windows and token buckets are not counted, the other keys are', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store } = await openStore(t, memcached.address);
  const ops = [
    { key: 'a', hits: 2 },
    { key: 'window', hits: 1, terms: slidingWindow(5, 60) },
    { key: 'bucket', hits: 1, terms: tokenBucket(5, 60) },
  ];
  for (const batch of [batchOf([{ ops }]), batchOf([{ ops }])]) {
    await store.increment(batch);
    t.match(batch.failureText, 'these limits need Redis or the embedded store');
    await store.settled();
    await store.incrementHoldingBack(batch);
    await store.settled();
    t.strictSame(aftersOf(batch).slice(1), [Number.NaN, Number.NaN]);
  }
  t.equal(await memcached.get('a'), '8');
  t.equal(await memcached.get('window'), undefined);
});

t.test('the first hit of a window is answered before it is stored, and counted from then on', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store, counters } = await openStore(t, memcached.address);
  t.same(await hit(store, 'a'), [1]);
  t.equal(await memcached.get('a'), '1');
  t.same(counters(), {
    'ratelimit.memcache.multiget.__code=success': 1,
    'ratelimit.memcache.keys_requested': 1,
    'ratelimit.memcache.increment.__code=miss': 1,
    'ratelimit.memcache.add.__code=success': 1,
  });
  t.same(await hit(store, 'a', 'b'), [2, 1]);
  t.match(counters(), {
    'ratelimit.memcache.multiget.__code=success': 2,
    'ratelimit.memcache.keys_requested': 3,
    'ratelimit.memcache.keys_found': 1,
    'ratelimit.memcache.increment.__code=success': 1,
  });
});

t.test('hits of several processes for a key that nobody has made yet are all counted', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const opened = await Promise.all(Array.from({ length: 4 }, () => openStore(t, memcached.address)));
  await Promise.all(
    opened.flatMap(({ store }) => Array.from({ length: 25 }, () => count(store, [{ key: 'a', hits: 3 }]))),
  );
  await Promise.all(opened.map(({ store }) => store.settled()));
  t.equal(await memcached.get('a'), '300');
});

t.test('keys go to the servers that the reference implementation takes them to', async t => {
  const servers = await Promise.all([startMemcached(), startMemcached(), startMemcached()]);
  t.teardown(() => Promise.all(servers.map(server => server.stop())));
  const { store } = await openStore(t, servers.map(server => server.address).join());
  // CRC-32 modulo 3 of each key.
  const places = { domain_key_value_1699999200: 2, a: 0, b: 2, k1: 1, user_ann_60: 2, ä: 2 };
  await hit(store, ...Object.keys(places));
  for (const [key, place] of Object.entries(places)) {
    const found = await Promise.all(servers.map(server => server.get(key)));
    t.same(
      found,
      servers.map((_server, i) => (i === place ? '1' : undefined)),
      key,
    );
  }
});

t.test('windows longer than 30 days are kept until their end', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store } = await openStore(t, memcached.address);
  for (const ttlS of [60, 2_592_000, 2_592_001, 31_536_000]) {
    const key = `lives-${ttlS}`;
    await count(store, [{ key, hits: 1 }], { ...NOON, ttlS });
    await store.settled();
    const [meta] = await memcached.command(`mg ${key} t`);
    const leftS = Number(/ t(\d+)/.exec(meta)?.[1]);
    // Its clock ticks once a second, later when the machine is busy.
    t.ok(Math.abs(leftS - ttlS) < 30, `${key}: ${meta}`);
  }
});

t.test('a key that memcached cannot hold and a value that is no count fail alone', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store, logger, counters } = await openStore(t, memcached.address);
  await memcached.command('set text 0 0 4\r\nmany');
  const batch = batchOf([
    { ops: ['a', 'with space', 'x'.repeat(251), 'text', 'b'].map(key => ({ key, hits: 1 })) },
  ]);
  await store.increment(batch);
  await store.settled();
  t.same(aftersOf(batch), [1, Number.NaN, Number.NaN, Number.NaN, 1]);
  t.match(batch.failureText, 'cannot contain white space or control characters');
  t.equal(await memcached.get('b'), '1');
  t.equal(await memcached.get('text'), 'many');
  t.match(counters(), {
    'ratelimit.memcache.multiget.__code=error': 1,
    'ratelimit.memcache.increment.__code=error': 1,
  });
  t.match(
    logger.lines
      .filter(line => line.level === 'error')
      .map(line => String(line.fields['reason']))
      .sort(),
    [/CLIENT_ERROR cannot increment/, /white space/],
  );
});

t.test('what was answered is added before a stop is done', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store } = await openStore(t, memcached.address);
  const batches = Array.from({ length: 200 }, (_, i) => batchOf([{ ops: [{ key: `k${i % 20}`, hits: 2 }] }]));
  await Promise.all(batches.map(batch => store.increment(batch)));
  await store.stop();
  for (let key = 0; key < 20; key++) t.equal(await memcached.get(`k${key}`), '20');
});

t.test('as many connections are kept to a server as the settings say, for all that is sent', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const connections = async () => {
    const stats = await memcached.command('stats');
    return Number(stats.find(line => line.startsWith('STAT curr_connections'))?.split(' ')[2]);
  };
  const before = await connections();
  const { store } = await openStore(t, memcached.address, { connections: 5 });
  await Promise.all(Array.from({ length: 100 }, (_, i) => count(store, [{ key: `k${i}`, hits: 1 }])));
  t.equal(await connections(), before + 5);
});

t.test('while a server is away its keys fail alone, at once, and are counted when it is back', async t => {
  const [stays, goes] = await Promise.all([startMemcached(), startMemcached()]);
  t.teardown(() => Promise.all([stays.stop(), goes.stop()]));
  const { store, logger } = await openStore(t, `${stays.address},${goes.address}`);
  const [here, there] = ['d', 'b'];
  t.same(await hit(store, here, there), [1, 1]);
  await goes.kill();
  await until(() => logger.messages('error').includes('memcached is unavailable'));
  t.same(await hit(store, here, there), [2, Number.NaN]);
  await goes.start();
  await until(async () => !Number.isNaN((await hit(store, there))[0]));
  t.same(await hit(store, here), [3]);
  t.ok((await hit(store, there))[0] > 1);
});

t.test('when no server is there, the batch fails and says why', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store, logger } = await openStore(t, memcached.address);
  await memcached.kill();
  await until(() => logger.messages('error').length > 0);
  const refusal = { code: 'store_failed', message: `memcached is not connected: ${memcached.address}: ` };
  await t.rejects(count(store, [{ key: 'a', hits: 1 }]), refusal);
  await t.rejects(store.incrementHoldingBack(batchOf([{ ops: [{ key: 'a', hits: 1 }] }])), refusal);
  await memcached.start();
  await until(async () => (await count(store, [{ key: 'a', hits: 1 }]).catch(() => [])).length > 0);
});

t.test('a server that does not answer in time is left, and tried again until it answers', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  const { store, logger } = await openStore(t, memcached.address, { timeoutMs: 300, connections: 1 });
  memcached.freeze();
  // It may answer once more before the signal has reached all of its threads.
  const failure = await until(() => count(store, [{ key: 'a', hits: 1 }]).then(() => undefined, asError));
  t.match(failure, { code: 'store_failed', message: /no response within 300 ms/ });
  memcached.thaw();
  await until(async () => (await count(store, [{ key: 'a', hits: 1 }]).catch(() => [])).length > 0);
  await until(() => logger.messages('error').length === 2);
  t.same(logger.messages('error'), ['memcached is unavailable', 'memcached is available again']);
});

t.test('a start waits for a server, and a stop ends the wait', async t => {
  const memcached = await startMemcached();
  t.teardown(() => memcached.stop());
  await memcached.kill();
  const logger = new KeepingLogger();
  const store = memcachedStore(memcached.address, { logger });
  t.teardown(() => store.stop());
  const started = store.start();
  await until(() => logger.messages('error').includes('memcached is unavailable at start'));
  await memcached.start();
  await started;
  await memcached.kill();
  const other = memcachedStore(memcached.address);
  const given = t.rejects(other.start(), { message: /canceled because the service is shutting down/ });
  await other.stop();
  await given;
});

/** A server that answers each piece of what it is sent as `answer` says. */
async function answering(t: Teardown, answer: (text: string) => string) {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', text => socket.write(answer(String(text))));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

t.test('a server that is not memcached is left with the words that it said', async t => {
  for (const [said, reason] of [
    ['-ERR unknown command\r\n', /it answered `-ERR unknown command` to the command `version`/],
    ['VERSION 1\r\nVERSION 1\r\n', /sent `VERSION 1` without a request/],
    ['x'.repeat(5_000), /a line that does not end/],
  ] as const) {
    const target = await answering(t, () => said);
    const connection = new MemcachedConnection({ target, tls: null, timeoutMs: 10_000, clock: systemClock });
    t.teardown(() => connection.close());
    await connection.open().catch(() => {});
    t.match(await connection.closed, reason);
  }
});

t.test('a server that refuses fails the keys that it refuses', async t => {
  const target = await answering(t, text => {
    if (text.startsWith('version')) return 'VERSION 1.6\r\n';
    return text.replaceAll(/[^\r\n]*\r\n/g, 'SERVER_ERROR out of memory\r\n');
  });
  const { store, logger } = await openStore(t, `127.0.0.1:${target.port}`);
  const batch = batchOf([{ ops: [{ key: 'a', hits: 1 }] }]);
  await store.increment(batch);
  t.same(aftersOf(batch), [Number.NaN]);
  t.equal(batch.failureText, 'SERVER_ERROR out of memory');
  await store.settled();
  t.equal(logger.messages('error').length, 2);
});

t.test('more commands than can wait on a connection fail at once', async t => {
  const target = await answering(t, () => '');
  const connection = new MemcachedConnection({ target, tls: null, timeoutMs: 10_000, clock: systemClock });
  t.teardown(() => connection.close());
  const reasons: string[] = [];
  const exchange = (commands: number) => ({
    request: 'x',
    commands,
    line: () => true,
    value: () => {},
    failed: (reason: string) => reasons.push(reason),
  });
  connection.send([exchange(400_000), exchange(200_000)]);
  t.same(reasons, ['too many outstanding commands']);
});

/** Waits for something, a turn of the event loop at a time; tap's time-out is the bound. */
async function until<T>(find: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const found = await find();
    if (found) return found;
    await new Promise(resolve => setImmediate(resolve));
  }
}
