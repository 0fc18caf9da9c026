import { once } from 'node:events';
import t from 'tap';
import { Bound, SharedBound } from '../../../src/base/threads/shared-bound.ts';
import { openSocket } from '../../support/grpc-client.ts';
import { heldMemory } from '../../support/memory.ts';
import { connectionsDownTo, type OwnServing, serveOwn } from '../../support/own-server.ts';
import { until } from '../../support/until.ts';
import { WireClient } from '../../support/wire-client.ts';
import { CLIENT_PREFACE, ERRORS, grpcCall, settings } from '../../support/wire-frames.ts';
import { takesNoMemory } from './attack.ts';

t.test('connections beyond the limit are closed at once, and the others served', async t => {
  const { server, honest } = await serveOwn(t, { limits: { maxConnections: 5 } });
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  const admitted: WireClient[] = [];
  for (let i = 0; i < 4; i++) admitted.push(await WireClient.open(t, server.address));
  for (let i = 0; i < 20; i++) {
    const client = await WireClient.connect(t, server.address);
    client.send(CLIENT_PREFACE, settings(), grpcCall(1, '/s/Echo'));
    await client.ended;
    t.strictSame(client.received, []);
  }
  t.equal(server.connectionCount, 5);
  t.equal(await admitted[3].call(1, '/s/Echo'), '0');
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  admitted[0].socket.destroy();
  await connectionsDownTo(server, 4);
  const next = await WireClient.open(t, server.address);
  t.equal(await next.call(1, '/s/Echo'), '0', 'one that goes makes room');
});

t.test('servers of several threads have one limit on connections, and each has its part', async t => {
  const shared = new SharedBound(8, 2);
  const first = await serveOwn(t, { connections: Bound.at(shared.join()) });
  const second = await serveOwn(t, { connections: Bound.at(shared.join()) });
  const admit = async ({ server }: OwnServing): Promise<WireClient> => {
    const client = await WireClient.open(t, server.address);
    t.equal(await client.call(1, '/s/Echo'), '0');
    return client;
  };
  const refuse = async ({ server }: OwnServing): Promise<void> => {
    const client = await WireClient.connect(t, server.address);
    await client.ended;
    t.strictSame(client.received, []);
  };
  const admitted: WireClient[] = [];
  for (let i = 0; i < 6; i++) admitted.push(await admit(first));
  await refuse(first);
  for (let i = 0; i < 2; i++) await admit(second);
  await refuse(second);
  admitted[0].socket.destroy();
  await connectionsDownTo(first.server, 5);
  await admit(second);
  await refuse(first);
  t.equal(first.server.connectionCount + second.server.connectionCount, 8);
});

t.test('connections that come and go leave the memory as it was', async t => {
  const { server } = await serveOwn(t);
  const comeAndGo = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) {
      const socket = openSocket(server.address);
      socket.on('error', () => {});
      await once(socket, 'connect');
      if (i % 3 > 0) socket.write(Buffer.concat([CLIENT_PREFACE, settings(), grpcCall(1, '/s/Echo')]));
      if (i % 3 > 1) await once(socket, 'data');
      socket.destroy();
    }
    await connectionsDownTo(server, 0);
  };
  await takesNoMemory(t, comeAndGo, 4);
});

t.test('an idle connection takes little memory', async t => {
  const { server } = await serveOwn(t);
  const open = async (count: number): Promise<WireClient[]> => {
    const clients: WireClient[] = [];
    for (let i = 0; i < count; i++) {
      const client = await WireClient.open(t, server.address);
      t.equal(await client.call(1, '/s/Echo'), '0');
      client.socket.removeAllListeners('data');
      clients.push(client);
    }
    return clients;
  };
  await open(20);
  const before = await heldMemory();
  const clients = await open(200);
  const each = ((await heldMemory()) - before) / clients.length;
  // Both ends are in this process: the client with its socket, decoder and frames takes the larger part.
  t.ok(each < 60_000, `${Math.round(each)} bytes for both ends`);
});

t.test('a connection that was busy once and hardly is any more takes little memory', async t => {
  const { server, clock } = await serveOwn(t);
  const open = async (count: number): Promise<WireClient[]> => {
    const clients: WireClient[] = [];
    for (let i = 0; i < count; i++) clients.push(await WireClient.open(t, server.address));
    return clients;
  };
  const sayLittle = async (clients: readonly WireClient[]): Promise<void> => {
    for (const client of clients) {
      await client.settled();
      client.frames.length = 0;
      client.received.length = 0;
    }
    clock.advance(1_000);
  };
  const clients = await open(100);
  await sayLittle(clients);
  const before = await heldMemory();
  for (const client of clients) {
    client.send(...Array.from({ length: 4 }, (_, i) => grpcCall(2 * i + 1, '/s/Echo', 'x'.repeat(12_000))));
    await client.answer(7);
  }
  for (let second = 0; second < 3; second++) await sayLittle(clients);
  const each = ((await heldMemory()) - before) / clients.length;
  t.ok(each < 16_384, `${Math.round(each)} bytes more for each`);
});

t.test('a server that stops is not held up by attackers', async t => {
  const { server, clock } = await serveOwn(t, { options: { drainTimeoutMs: 5_000 } });
  const silent = await WireClient.connect(t, server.address);
  const begun = await WireClient.open(t, server.address);
  begun.answersPings = false;
  begun.send(grpcCall(1, '/s/Echo').subarray(0, -1));
  // Only when it has seen these bytes does the server know the connections.
  await begun.frame(() => true);
  await until(() => server.connectionCount >= 2);
  const stopped = server.stop();
  await silent.ended;
  t.equal(await begun.goAway(), ERRORS.noError);
  clock.advance(5_000);
  await stopped;
  t.equal(server.connectionCount, 0);
});
