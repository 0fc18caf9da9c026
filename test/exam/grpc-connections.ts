import { once } from 'node:events';
import type { Test } from 'tap';
import { GRPC_STATUS, type StreamMethod } from '../../src/grpc/service.ts';
import { callOverHttp2, GrpcClient, openCallOverHttp2, openHttp2 } from '../support/grpc-client.ts';
import { WireClient } from '../support/wire-client.ts';
import { type Examinee, echo, HeldCalls } from './grpc-examinee.ts';

/** An age of connections that leaves a client the time to connect and call, on a busy machine as well. */
const CALL_ARRIVES_MS = 1_000;

export function examineConnections(t: Test, examinee: Examinee): void {
  const strangers = {
    'HTTP/1.1': 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(10),
    TLS: Buffer.from('16030100f7010000f3', 'hex'),
    'a preface that is almost right': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\n\r',
    'a line of text': 'INVALID CONNECTION PREFACE\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(strangers)) {
    t.test(`a connection that begins with ${name} is closed`, async t => {
      const { server, client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
      const stranger = await WireClient.connect(t, server.address);
      stranger.send(Buffer.from(bytes));
      await stranger.ended;
      t.equal((await client.unary('/s/Echo', 'on')).status, 0);
    });
  }

  examinee.test(t, 'callers of HTTP/1.1 get an answer that they can read', async t => {
    const { server } = await examinee.start(t, {});
    const requests = [
      'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'POST /json HTTP/1.0\n\n',
      'PROPFIND /x HTTP/1.1\r\n\r\n',
      `GET /${'x'.repeat(4_000)} HTTP/1.1\r\n\r\n`,
    ];
    for (const request of requests) {
      const caller = await WireClient.connect(t, server.address);
      caller.send(Buffer.from(request));
      await caller.ended;
      t.match(
        Buffer.concat(caller.received).toString(),
        /^HTTP\/1\.1 505 [\s\S]*\r\n\r\nThis port speaks gRPC.*\/json\.\r\n$/,
      );
    }
  });

  t.test('a path with strange bytes is answered or refused, and nothing else fails', async t => {
    const { server, client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    for (const path of ['/s/\u00e9\u00ff', '/s/%00%0a', `/${'x'.repeat(8000)}`]) {
      const session = openHttp2(server.address);
      const answer = await callOverHttp2(session, path).catch(() => ({ 'grpc-status': 'refused' }));
      t.match(answer['grpc-status'], /12|refused/);
      session.destroy();
    }
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
  });

  t.test('a connection of the maximum age gets GOAWAY, and its running call finishes', async t => {
    const held = new HeldCalls();
    const { server } = await examinee.start(
      t,
      { unary: { '/s/Hold': held.method } },
      { maxConnectionAgeMs: CALL_ARRIVES_MS },
    );
    const session = openHttp2(server.address);
    const goneAway = once(session, 'goaway');
    const call = callOverHttp2(session, '/s/Hold');
    await held.arrived(1);
    await goneAway;
    held.replies[0].send(Buffer.alloc(0));
    t.equal((await call)['grpc-status'], '0');
    if (!session.destroyed) await once(session, 'close');
  });

  t.test('the grace time ends calls of a connection that got GOAWAY', async t => {
    const held = new HeldCalls();
    const age = { maxConnectionAgeMs: CALL_ARRIVES_MS, maxConnectionAgeGraceMs: 10 };
    const { server } = await examinee.start(t, { unary: { '/s/Hold': held.method } }, age);
    const session = openHttp2(server.address);
    const call = callOverHttp2(session, '/s/Hold').catch(() => ({ 'grpc-status': 'cut' }));
    await once(session, 'close');
    t.not((await call)['grpc-status'], '0');
    t.equal(held.replies.length, 1);
  });

  for (const [name, maxConnectionAgeMs] of [
    ['no', 0],
    ['a very long', 400 * 24 * 3600_000],
  ] as const) {
    t.test(`with ${name} maximum age, connections stay`, async t => {
      const held = new HeldCalls();
      const { server } = await examinee.start(
        t,
        { unary: { '/s/Hold': held.method } },
        { maxConnectionAgeMs },
      );
      const session = openHttp2(server.address);
      t.teardown(() => session.destroy());
      let goneAway = false;
      session.once('goaway', () => {
        goneAway = true;
      });
      // A timer of 0 ms, or one that overflowed, fires before the server's own timer for this deadline does.
      const answer = await callOverHttp2(session, '/s/Hold', { 'grpc-timeout': '30m' });
      t.equal(answer['grpc-status'], '4');
      t.notOk(goneAway);
    });
  }
}

export function examineStop(t: Test, examinee: Examinee): void {
  t.test('stopping lets running calls finish, ends streams and refuses new calls', async t => {
    const held = new HeldCalls();
    const watch: StreamMethod = (_request, stream) => stream.send(Buffer.from('open'));
    const { server, client } = await examinee.start(t, {
      unary: { '/s/Hold': held.method, '/s/Echo': echo },
      streaming: { '/s/Watch': watch },
    });
    const watched = client.stream('/s/Watch');
    await watched.next();
    const running = client.unary('/s/Hold');
    await held.arrived(1);

    const stopped = server.stop();
    t.match(await watched.status, { code: GRPC_STATUS.unavailable, details: /shutting down/ });
    t.equal((await client.unary('/s/Echo')).status, GRPC_STATUS.unavailable, 'on the same connection');
    const another = new GrpcClient(server.address);
    t.equal((await another.unary('/s/Echo')).status, GRPC_STATUS.unavailable, 'on a new connection');
    another.close();
    held.replies[0].send(Buffer.from('finished'));
    t.equal((await running).response.toString(), 'finished');
    await stopped;
  });

  t.test('a stream whose request comes in while the server stops is ended at once', async t => {
    const { server } = await examinee.start(t, { streaming: { '/s/Watch': () => {} } });
    const session = openHttp2(server.address);
    t.teardown(() => session.destroy());
    const call = openCallOverHttp2(session, '/s/Watch');
    // The server answers a ping after it has seen the headers of the call.
    await new Promise(resolve => session.once('remoteSettings', resolve));
    await new Promise(resolve => session.ping(resolve));
    const stopped = server.stop();
    call.sendRequest();
    t.equal((await call.answer)['grpc-status'], '14');
    await stopped;
  });

  t.test('stopping cuts calls that do not finish in time', async t => {
    const held = new HeldCalls();
    const { server, client, log } = await examinee.start(
      t,
      { unary: { '/s/Hold': held.method } },
      { drainTimeoutMs: 20 },
    );
    const running = client.unary('/s/Hold');
    await held.arrived(1);
    await server.stop();
    t.not((await running).status, 0);
    t.match(log, [{ level: 'warning', '@message': /closed gRPC connections/, connections: 1 }]);
    held.replies[0].send(Buffer.from('late'));
  });

  t.test('stopping does not wait for ever for a connection that stays silent and never ends', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } }, { drainTimeoutMs: 20 });
    // With the server's first frame it is certain that it knows the connection.
    await WireClient.open(t, server.address);
    await server.stop();
    t.pass('stopped');
  });

  t.test('stopping before the start, or twice, is harmless; a stopped server starts again', async t => {
    const server = examinee.make(t, { unary: { '/s/Echo': echo } });
    await server.stop();
    await server.start();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    await server.start();
    const client = new GrpcClient(server.address);
    t.equal((await client.unary('/s/Echo')).status, 0);
    client.close();
  });
}
