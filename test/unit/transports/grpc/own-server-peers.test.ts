import t, { type Test } from 'tap';
import type { LogFields } from '../../../../src/base/logger.ts';
import type { UnaryMethod } from '../../../../src/grpc/service.ts';
import type { OwnGrpcServer } from '../../../../src/transports/grpc/own-server.ts';
import { HeldCalls } from '../../../exam/grpc-examinee.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { connectionsDownTo, serveOwn } from '../../../support/own-server.ts';
import { until } from '../../../support/until.ts';
import { WireClient } from '../../../support/wire-client.ts';
import {
  CLIENT_PREFACE,
  ERRORS,
  type Frame,
  frame,
  grpcCall,
  PARAMETER,
  settings,
  TYPE,
  windowUpdate,
} from '../../../support/wire-frames.ts';

/** A logger that throws at the first error. Nobody expects that while a failed method is handled. */
class FailingLogger extends KeepingLogger {
  override error(message: string, fields: LogFields = {}): void {
    super.error(message, fields);
    if (this.messages('error').length === 1) throw new Error('the second cause');
  }
}

const isPing = ({ type, flags }: Frame): boolean => type === TYPE.ping && flags === 0;
const keepalive = { connection: { keepaliveIdleMs: 50_000, keepaliveTimeoutMs: 10_000 } };

t.test('a dead peer is cut, and its calls are over', async t => {
  const held = new HeldCalls();
  const { server, clock, log } = await serveOwn(t, { limits: keepalive, unary: { '/s/Hold': held.method } });
  const client = await WireClient.open(t, server.address);
  client.answersPings = false;
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  clock.advance(51_000);
  await client.frame(isPing);
  clock.advance(10_000);
  t.equal(server.connectionCount, 1);
  clock.advance(1_000);
  t.match(await client.goAwayText(), /no response to the keepalive ping within 10000 ms/);
  await client.ended;
  t.equal(server.streamCount, 0);
  held.replies[0].send(Buffer.from('late'));
  t.match(log.at(-1), { '@message': 'gRPC connection closed', reason: /no response to the keepalive ping/ });
});

t.test('a peer that keeps its end open after the last word is cut', async t => {
  const { server, clock } = await serveOwn(t);
  const client = await WireClient.open(t, server.address);
  client.send(frame(TYPE.pushPromise, 0, 1));
  t.equal(await client.goAway(), ERRORS.protocolError);
  await client.ended;
  t.equal(server.connectionCount, 1);
  clock.advance(3_000);
  await connectionsDownTo(server, 0);
});

t.test('a peer that sends on after the last word is cut', async t => {
  const { server } = await serveOwn(t);
  const client = await WireClient.open(t, server.address);
  client.send(frame(TYPE.pushPromise, 0, 1));
  await client.ended;
  client.send(Buffer.alloc(2 * 1_048_576));
  await connectionsDownTo(server, 0);
});

t.test('a caller of HTTP/1.1 that keeps its end open is cut', async t => {
  const { server, clock, honest } = await serveOwn(t);
  const caller = await WireClient.connect(t, server.address);
  caller.send(Buffer.from('POST /json HTTP/1.1\r\n'));
  await caller.ended;
  caller.send(Buffer.from('host: a\r\n\r\n'), CLIENT_PREFACE, settings());
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  clock.advance(3_000);
  await connectionsDownTo(server, 1);
  t.equal(
    Buffer.concat(caller.received)
      .toString()
      .match(/HTTP\/1\.1 505/g)?.length,
    1,
    'it is answered once',
  );
});

t.test('nothing is said to a peer before it is known to speak HTTP/2', async t => {
  const { server, clock, honest } = await serveOwn(t);
  const client = await WireClient.connect(t, server.address);
  client.send(CLIENT_PREFACE.subarray(0, 3));
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  clock.advance(5_000);
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  t.strictSame(client.received, []);
  client.send(CLIENT_PREFACE.subarray(3));
  t.equal((await client.frame(() => true)).type, TYPE.settings);
});

t.test('a connection whose handling fails is cut and logged, and the others go on', async t => {
  const broken: UnaryMethod = () => {
    throw new Error('the first cause');
  };
  const logger = new FailingLogger();
  const { server, honest } = await serveOwn(t, { unary: { '/s/Broken': broken }, options: { logger } });
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  const client = await WireClient.open(t, server.address);
  client.send(grpcCall(1, '/s/Broken'));
  await client.ended;
  await connectionsDownTo(server, 1);
  t.match(
    logger.lines.filter(({ level }) => level === 'error'),
    [
      {
        message: 'gRPC method failed (this is a bug; please report it)',
        fields: { error: /the first cause/ },
      },
      {
        message: 'gRPC connection failed inside the server (this is a bug; please report it)',
        fields: { error: /the second cause/ },
      },
    ],
  );
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
});

/** A client whose windows never hold anything back. */
async function unlimited(t: Test, server: OwnGrpcServer): Promise<WireClient> {
  const client = await WireClient.open(t, server.address, [PARAMETER.initialWindowSize, 2 ** 31 - 1]);
  client.send(windowUpdate(0, 2 ** 31 - 1 - 65_535));
  return client;
}

/** Asks for large answers until so many bytes wait for a client that does not read. Returns the last stream. */
async function fill(client: WireClient, server: OwnGrpcServer, bytes: number): Promise<number> {
  let stream = -1;
  while (server.queuedBytes < bytes) {
    stream += 2;
    client.send(grpcCall(stream, '/s/Large'));
    await new Promise(resolve => setImmediate(resolve));
  }
  return stream;
}

t.test('a peer that reads little by little is not blocked', async t => {
  const large: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(65_536));
  const { server, clock } = await serveOwn(t, {
    unary: { '/s/Large': large },
    limits: { connection: { stallMs: 30_000 } },
  });
  const client = await unlimited(t, server);
  client.socket.pause();
  const last = await fill(client, server, 200_000);
  for (let left = server.queuedBytes; left > 0; left = server.queuedBytes) {
    clock.advance(20_000);
    client.socket.resume();
    await until(() => server.queuedBytes !== left);
    client.socket.pause();
  }
  client.socket.resume();
  t.equal((await client.answer(last)).content.length, 65_541);
  clock.advance(40_000);
  t.equal((await client.answer(1)).content.length, 65_541);
  await client.settled();
});

t.test('a peer that the server does not read from is not blamed for its silence', async t => {
  const large: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(262_144));
  const { server, clock } = await serveOwn(t, {
    unary: { '/s/Large': large },
    limits: { connection: { keepaliveIdleMs: 5_000, keepaliveTimeoutMs: 5_000, stallMs: 100_000 } },
  });
  const client = await unlimited(t, server);
  client.socket.pause();
  const last = await fill(client, server, 262_144);
  clock.advance(60_000);
  t.equal(server.connectionCount, 1);
  client.socket.resume();
  t.equal((await client.answer(last)).content.length, 262_149);
  clock.advance(1_000);
  await client.settled();
});

t.test('small answers that the system took leave nothing that could count against the peer', async t => {
  const { server, clock } = await serveOwn(t, { limits: { connection: { stallMs: 5_000 } } });
  const client = await unlimited(t, server);
  for (let call = 0; call < 20; call++) {
    t.equal(await client.call(2 * call + 1, '/s/Echo', 'x'.repeat(16_000)), '0');
    t.equal(server.queuedBytes, 0);
    clock.advance(6_000);
  }
});

t.test('what is left of the answers is read in peace after a graceful end', async t => {
  const large: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(262_144));
  const { server, clock } = await serveOwn(t, {
    unary: { '/s/Large': large },
    options: { maxConnectionAgeMs: 1_000_000 },
    limits: { connection: { stallMs: 30_000 } },
  });
  const client = await unlimited(t, server);
  await client.settled();
  // Between ticks, so that the age comes before anything else does.
  for (let passed = 0; passed < 960_000; passed += 20_000) {
    clock.advance(20_000);
    await client.settled();
  }
  client.socket.pause();
  const last = await fill(client, server, 100_000);
  client.send(frame(TYPE.goAway, 0, 0, Buffer.alloc(8)));
  clock.advance(20_000);
  t.equal(server.connectionCount, 1);
  client.socket.resume();
  t.equal((await client.answer(last)).content.length, 262_149);
});
