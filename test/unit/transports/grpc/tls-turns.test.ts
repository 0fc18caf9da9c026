import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { closed, greet, greetOn, openSilent, openTls, startTlsServer } from './tls-setup.ts';

/** A server that starts the next handshake only when the test says so. */
async function startStepped(t: Test) {
  const due: (() => void)[] = [];
  const tls = await startTlsServer(t, { nextTurn: run => due.push(run) });
  return {
    ...tls,
    /** Resolves when this many connections wait for their handshake. */
    waiting: async (count: number): Promise<void> => {
      while (tls.handshakes.waiting < count) await new Promise(resolve => setImmediate(resolve));
    },
    turn: (): void => {
      for (const run of due.splice(0)) run();
    },
  };
}

t.test('one handshake starts per turn of the event loop, in the order of the ClientHellos', async t => {
  const { server, handshakes, waiting, turn } = await startStepped(t);
  const clients: TLSSocket[] = [];
  const secured: TLSSocket[] = [];
  for (let count = 1; count <= 4; count++) {
    const client = openTls(server.address);
    client.once('secureConnect', () => secured.push(client));
    clients.push(client);
    await waiting(count);
  }
  for (const [i, client] of clients.entries()) {
    t.equal(handshakes.waiting, clients.length - i);
    turn();
    t.match(await greetOn(client), { served: true });
    t.strictSame(
      secured.map(one => clients.indexOf(one)),
      [0, 1, 2, 3].slice(0, i + 1),
    );
  }
  t.equal(handshakes.pending, 0);
  for (const client of clients) client.destroy();
});

t.test('a connection without a complete ClientHello takes no turn', async t => {
  const { server, handshakes, waiting, turn } = await startStepped(t);
  const slow = await openSilent(server.address);
  // The head of a record that promises 512 bytes, and some of them.
  slow.write(Buffer.concat([Buffer.from('1603010200', 'hex'), Buffer.alloc(100, 1)]));
  const client = openTls(server.address);
  await waiting(1);
  turn();
  t.match(await greetOn(client), { served: true });
  t.equal(handshakes.pending, 1);
  client.destroy();
  slow.destroy();
});

t.test('a connection that closes while it waits leaves the queue', async t => {
  const { server, handshakes, log, waiting, turn } = await startStepped(t);
  const silent = await openSilent(server.address);
  silent.destroy();
  t.match(await log.until(/^TLS handshake failed/), [
    { peer: /^127\.0\.0\.1:\d+$/, reason: 'the client closed the connection' },
  ]);
  t.equal(handshakes.pending, 0);
  const reset = openTls(server.address);
  await waiting(1);
  reset.destroy();
  const client = openTls(server.address);
  await waiting(2);
  turn();
  turn();
  t.match(await greetOn(client), { served: true });
  client.destroy();
});

t.test('a ClientHello of more than 16 KiB is refused', async t => {
  const { server, handshakes, log } = await startStepped(t);
  const long = await openSilent(server.address);
  const gone = closed(long);
  const record = Buffer.concat([
    Buffer.from('1603014000', 'hex'),
    Buffer.from('01ffffff', 'hex'),
    Buffer.alloc(16_380),
  ]);
  long.write(Buffer.concat([record, record]));
  await gone;
  t.match(await log.until(/^TLS handshake failed/), [
    { reason: 'the ClientHello is longer than 16384 bytes' },
  ]);
  t.equal(handshakes.pending, 0);
});

t.test('a stop cuts connections that wait for their handshake', async t => {
  const { server, handshakes, waiting } = await startStepped(t);
  const client = openTls(server.address);
  await waiting(1);
  const gone = closed(client);
  await server.stop();
  await gone;
  t.strictSame([handshakes.pending, handshakes.waiting], [0, 0]);
});

t.test('without a step between, handshakes follow each other by themselves', async t => {
  const { server } = await startTlsServer(t);
  const greetings = await Promise.all(Array.from({ length: 20 }, () => greet(server.address)));
  for (const greeting of greetings) t.match(greeting, { served: true });
});
