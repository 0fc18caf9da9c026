import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { RedisConnection } from '../../../../src/counters/redis/connections/connection.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { answeringServer, reply } from '../../../support/answering-server.ts';
import { count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { redisStore } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

/** A store on a server that greets as Redis does and answers batches as the test says. */
async function openStore(t: Test, answer: (batch: number) => string | undefined, poolSize = 1) {
  let batches = 0;
  let greetings = 0;
  const url = await answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    if (words[1] !== '0') return answer(++batches);
    // The script that counts no keys.
    greetings++;
    return reply([null]);
  });
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const store = redisStore({ socketType: 'tcp', url, auth: '' }, { logger, stats, poolSize });
  t.teardown(() => store.stop());
  await store.start();
  const active = () => new Map(stats.gauges()).get('active');
  return { store, logger, active, greetings: () => greetings };
}

t.test('an answer that comes in pieces is the same answer', async t => {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', async data => {
      const batch = !/PING|\r\n\$1\r\n0\r\n$/.test(data.toString());
      const text = data.includes('PING')
        ? '+PONG\r\n'
        : reply(batch ? [70_000, null, 'WRONGTYPE x'] : [null]);
      for (const byte of text) await new Promise(written => socket.write(byte, written));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = redisStore({ socketType: 'tcp', url, auth: '' });
  t.teardown(() => store.stop());
  await store.start();
  const ops = [
    { key: 'a', hits: 1 },
    { key: 'b', hits: 1 },
  ];
  for (let round = 0; round < 3; round++) t.same(await count(store, ops), [70_000, Number.NaN]);
});

t.test('an answer that nobody asked for ends the connection', async t => {
  const { store, logger, greetings } = await openStore(t, batch =>
    batch === 1 ? reply([7, null]) + reply([8, null]) : reply([9, null]),
  );
  t.same(await count(store, ONE), [7]);
  await until(() => greetings() === 2);
  t.match(
    logger.lines.find(line => line.message === 'Redis connection lost; reconnecting'),
    { fields: { reason: 'it sent a reply without a command' } },
  );
  t.same(await untilCounted(store, ONE), [9]);
});

t.test('a connection whose answers cannot be read is lent to nobody any more', async t => {
  const { store, active } = await openStore(t, batch => (batch === 1 ? '?\r\n' : reply([7, null])));
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /Unknown RESP type/ });
  t.equal(active(), 0);
  await t.rejects(count(store, ONE), {
    code: 'store_failed',
    message: /is not connected: .*Unknown RESP type/,
  });
  t.same(await untilCounted(store, ONE), [7]);
});

t.test('a store that was stopped opens no connection for a batch that comes too late', async t => {
  const { store, greetings } = await openStore(t, () => undefined, 2);
  const first = t.rejects(count(store, ONE), { code: 'store_failed' });
  const stopped = store.stop();
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /the service is shutting down/ });
  await Promise.all([first, stopped]);
  t.equal(greetings(), 1);
});

t.test('a connection to a server that does not close its side is cut a tenth of a second later', async t => {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => socket.write('+PONG\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, family: 0 } as const;
  const endpoint = { shown: '', target, username: '', password: '', database: 0, authFile: null, tls: null };
  const connection = new RedisConnection({ endpoint, timeoutMs: 5_000 });
  await connection.open({ tryScripts: false, mustBeMaster: false });
  const timers = t.capture(globalThis, 'setTimeout', globalThis.setTimeout);
  connection.close();
  t.same(
    timers().map(({ args }) => args[1]),
    [100],
    'the client library takes the bound that its types do not name',
  );
  t.equal(await connection.closed, 'the connection was closed');
});
