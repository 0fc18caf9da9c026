import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import type { LoadOutcome } from '../../../../src/rules/rule-set.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { hourly } from '../../../support/xds-messages.ts';
import { startXds, startXdsPair } from './started-xds.ts';

/** A server that takes connections and never says a word. */
async function silentServer(t: Test): Promise<{ address: string; connection: Promise<Socket> }> {
  const server = createServer(socket => socket.resume());
  const connection = once(server, 'connection').then(([socket]) => socket as Socket);
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { address: `localhost:${(server.address() as AddressInfo).port}`, connection };
}

t.test('a stop ends the wait for the first rules', async t => {
  const { ads, source, loader, logger } = await startXdsPair(t);
  await ads.request();
  await source.stop();
  t.same(loader.sets, []);
  t.same(logger.messages('error'), [], 'that it ends is no fault');
});

t.test('a stop ends the wait for the next attempt', async t => {
  const gone = await AdsServer.start(t);
  gone.stop();
  const { source, clock } = await startXds(t, gone.address, { connectRetryMs: 60_000 });
  await clock.pass(60_000);
  await source.stop();
  t.equal(clock.pending, 0);
});

t.test('a stop ends the making of a connection, and the connection', async t => {
  const { address, connection } = await silentServer(t);
  const { source, clock } = await startXds(t, address);
  const socket = await connection;
  const closed = once(socket, 'close');
  await source.stop();
  await closed;
  t.equal(clock.pending, 0);
});

t.test('a connection that is not made within its bound is given up', async t => {
  const { address, connection } = await silentServer(t);
  const { clock, logger } = await startXds(t, address);
  const closed = once(await connection, 'close');
  await clock.pass(20_000);
  await closed;
  await clock.pass(3_000);
  t.match(logger.lines[0], {
    message: 'Could not connect to the xDS server',
    fields: { reason: 'no connection within 20 s' },
  });
});

t.test('a stop does not wait for rules that are being loaded, and does not answer for them', async t => {
  const { ads, source, loader } = await startXdsPair(t);
  await ads.request();
  const loading = Promise.withResolvers<void>();
  const outcome = Promise.withResolvers<LoadOutcome>();
  loader.answer = () => {
    loading.resolve();
    return outcome.promise;
  };
  (await ads.stream()).send('v1', hourly('shop', 'user', 5));
  await loading.promise;
  await source.stop();
  outcome.resolve({ kind: 'active' });
});

t.test('a stop before the start has ended, and a second one, are harmless', async t => {
  const { source } = await startXdsPair(t);
  await source.stop();
  await source.stop();
  t.pass('both ended');
});
