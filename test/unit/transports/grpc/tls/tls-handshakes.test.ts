import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import t from 'tap';
import { DEFAULT_LIMITS } from '../../../../../src/http2/connection/limits.ts';
import type { OwnGrpcServer } from '../../../../../src/transports/grpc/own-server.ts';
import { callOverHttp2, GrpcClient } from '../../../../support/grpc-client.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDirectory } from '../../../../support/temp-directory.ts';
import { until } from '../../../../support/until.ts';
import {
  closed,
  ENGINES,
  greet,
  openSilent,
  openTls,
  SERVER_PAIR,
  startTlsServer,
  tlsClient,
} from '../tls-setup.ts';

for (const [engine, makeServer] of Object.entries(ENGINES)) {
  t.test(`the engine ${engine} serves a gRPC client over TLS`, async t => {
    const { server } = await startTlsServer(t, { makeServer });
    const client = tlsClient(t, server.address as { port: number });
    const large = Buffer.alloc(300_000, 'x');
    t.same((await client.unary('/s/Echo', large)).response, large, 'many records of TLS each way');
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => client.unary('/s/Echo', `${i}`)));
    t.same(
      answers.map(({ response }) => response.toString()),
      answers.map((_, i) => `${i}`),
    );
  });

  t.test(`the engine ${engine} serves node:http2 over TLS 1.3 and 1.2`, async t => {
    const { server } = await startTlsServer(t, { makeServer });
    for (const version of ['TLSv1.3', 'TLSv1.2'] as const) {
      const socket = openTls(server.address, { minVersion: version, maxVersion: version });
      const session = connectHttp2('https://localhost', { createConnection: () => socket });
      t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
      t.equal(socket.getProtocol(), version);
      session.close();
    }
  });

  t.test(`the engine ${engine} serves TLS on a unix socket`, async t => {
    const listen = { path: join(tempDirectory(t), 'grpc.sock') };
    const { server, log } = await startTlsServer(t, { makeServer, listen });
    t.match(await greet(server.address), { served: true });
    t.match(await greet(server.address, { ALPNProtocols: ['http/1.1'] }), { served: false });
    t.match(await log.until(/^TLS handshake failed/), [{ peer: 'unix socket' }]);
  });

  t.test(`the engine ${engine} stops without waiting for a handshake that is not done`, async t => {
    const { server, handshakes } = await startTlsServer(t, { makeServer, clock: new ManualClock(0) });
    const silent = await openSilent(server.address);
    // Connections are accepted in their order.
    t.match(await greet(server.address), { served: true });
    t.equal(handshakes.pending, 1);
    await Promise.all([server.stop(), closed(silent)]);
    t.equal(handshakes.pending, 0);
  });
}

t.test('a client that offers another protocol than h2 is refused in the handshake', async t => {
  const { server, log } = await startTlsServer(t);
  t.match(await greet(server.address, { ALPNProtocols: ['http/1.1'] }), {
    served: false,
    error: /alert no application protocol/,
  });
  t.match(await log.until(/^TLS handshake/), [
    {
      level: 'debug',
      '@message': 'TLS handshake failed',
      peer: /^127\.0\.0\.1:\d+$/,
      reason: 'no application protocol',
    },
  ]);
  t.match(await greet(server.address, { ALPNProtocols: ['http/1.1', 'h2'] }), { served: true });
});

t.test('a client that offers no protocol gets an explanation, and is disconnected', async t => {
  const { server, handshakes, log } = await startTlsServer(t);
  const greeting = await greet(server.address, { ALPNProtocols: [] });
  t.match(greeting, { served: false, error: '' });
  t.match(greeting.text, /^HTTP\/1\.1 505 [\s\S]*\r\n\r\n.*clients must offer "h2" by ALPN/);
  t.match(await log.until(/^TLS handshake/), [{ level: 'debug', reason: 'the client did not offer h2' }]);
  await until(() => handshakes.pending <= 0);
});

t.test('a client without TLS is closed, and the log says what it was', async t => {
  const { server, log } = await startTlsServer(t);
  for (const [count, text] of ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n'].entries()) {
    const socket = await openSilent(server.address);
    socket.write(text);
    await closed(socket);
    const lines = await log.until(/^TLS handshake failed/, count + 1);
    t.match(lines[count], { level: 'debug', reason: /: the client does not use TLS$/ });
  }
  const client = new GrpcClient(server.address);
  t.equal((await client.unary('/s/Echo')).status, 14);
  client.close();
});

t.test('versions and ciphers that HTTP/2 does not want are refused', async t => {
  const { server, log } = await startTlsServer(t);
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  t.match(await greet(server.address, old), { served: false, error: /alert protocol version/ });
  const cbc = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' } as const;
  t.match(await greet(server.address, cbc), { served: false, error: /alert handshake failure/ });
  t.match(await log.until(/^TLS handshake failed/, 2), [
    { reason: 'unsupported protocol' },
    { reason: 'no shared cipher' },
  ]);
});

t.test('a client cannot renegotiate', async t => {
  const { server } = await startTlsServer(t);
  const socket = openTls(server.address, { maxVersion: 'TLSv1.2' });
  await once(socket, 'secureConnect');
  const failed = once(socket, 'error');
  socket.renegotiate({}, () => {});
  t.match(await failed, [{ message: /no renegotiation/ }]);
  socket.destroy();
});

t.test(
  'a client that reads its answers is not taken for one that does not, however quiet it is after',
  async t => {
    const serverClock = new ManualClock(0);
    const { server } = await startTlsServer(t, { serverClock });
    const own = server as OwnGrpcServer;
    const socket = openTls(server.address);
    const session = connectHttp2('https://localhost', { createConnection: () => socket });
    // With the second answer the client has acknowledged the settings, which must not take long.
    for (let call = 0; call < 2; call++) {
      t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
    }
    // Over TLS a write ends some time after the answer has left.
    await until(() => own.queuedBytes <= 0);
    serverClock.advance(DEFAULT_LIMITS.stallMs + 2_000);
    t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
    t.equal(own.connectionCount, 1);
    session.destroy();
  },
);

t.test('the reset of a client in its handshake is a line in the log and nothing else', async t => {
  const { server, handshakes, log } = await startTlsServer(t);
  const socket = await openSilent(server.address);
  socket.write(Buffer.from('160301', 'hex'));
  socket.resetAndDestroy();
  t.match(await log.until(/^TLS handshake failed/), [{ level: 'debug', reason: /./ }]);
  t.equal(handshakes.pending, 0);
  t.match(await greet(server.address), { served: true });
});

t.test('the key is in no line of the log', async t => {
  const { server, log } = await startTlsServer(t);
  await greet(server.address);
  await greet(server.address, { ALPNProtocols: [] });
  await log.until(/^TLS handshake/);
  for (const line of SERVER_PAIR.key.split('\n').filter(each => each.length > 20)) {
    t.notOk(log.text.includes(line));
  }
});
