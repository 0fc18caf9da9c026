import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import { createLogger } from '../../../../src/app/logging/logging.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { Deadlines } from '../../../../src/grpc/deadlines.ts';
import { DEFAULT_CALL_LIMITS, HeldBytes } from '../../../../src/grpc/limits.ts';
import { Inflater } from '../../../../src/grpc/message-reader.ts';
import type { ReplyStream, StreamMethod, UnaryMethod, UnaryReply } from '../../../../src/grpc/service.ts';
import { DEFAULT_LIMITS } from '../../../../src/http2/connection/limits.ts';
import { ConnectionTurns } from '../../../../src/transports/grpc/connection-turns.ts';
import { GrpcSocket } from '../../../../src/transports/grpc/grpc-socket.ts';
import { DEFAULT_SERVER_LIMITS } from '../../../../src/transports/grpc/own-server.ts';
import { echo, HeldCalls, serviceOf } from '../../../exam/grpc-examinee.ts';
import { WireClient } from '../../../support/wire-client.ts';
import { grpcCall } from '../../../support/wire-frames.ts';

/** Serves one connection with a {@link GrpcSocket}, and counts what that writes. */
async function serveCounted(
  t: Test,
  unary: Record<string, UnaryMethod>,
  streaming: Record<string, StreamMethod> = {},
) {
  const accepted: Socket[] = [];
  const writes: number[] = [];
  const listener = createServer(socket => {
    accepted.push(socket);
    const write = socket.write.bind(socket) as (bytes: Uint8Array) => boolean;
    socket.write = (bytes: unknown) => {
      writes.push((bytes as Uint8Array).length);
      return write(bytes as Uint8Array);
    };
    const options = {
      service: serviceOf({ unary, streaming }),
      limits: DEFAULT_LIMITS,
      callLimits: DEFAULT_CALL_LIMITS,
      held: new HeldBytes(1_000_000),
      inflater: new Inflater(
        { maxMessageBytes: 1_000_000, terms: DEFAULT_SERVER_LIMITS.inflation },
        systemClock,
      ),
      deadlines: new Deadlines(systemClock),
      ages: new Deadlines(systemClock),
      turns: new ConnectionTurns(setImmediate),
      clock: systemClock,
      logger: createLogger({ level: 'panic', format: 'text' }),
      ageGraceMs: 0,
      answers: new HeldBytes(1_000_000),
      grown: () => {},
      failed: () => {},
      closed: () => {},
    };
    new GrpcSocket(socket, options, Number.POSITIVE_INFINITY);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => {
    for (const socket of accepted) socket.destroy();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  const client = await WireClient.open(t, { host: '127.0.0.1', port });
  await client.settled();
  writes.length = 0;
  client.received.length = 0;
  return { client, writes };
}

const IDS = Array.from({ length: 100 }, (_, i) => 2 * i + 1);

function allCalls(path: string): Buffer[] {
  return IDS.map(id => grpcCall(id, path, `call ${id}`));
}

t.test('requests of one read are answered in one write', async t => {
  const { client, writes } = await serveCounted(t, { '/s/Echo': echo });
  client.send(...allCalls('/s/Echo'));
  for (const id of IDS) t.equal((await client.answer(id)).content.toString('utf8', 5), `call ${id}`);
  t.equal(writes.length, 1);
  t.equal(client.received.length, 1, 'which comes in one read');
});

t.test('so are those whose answers come when the code of the read has run', async t => {
  const replies: UnaryReply[] = [];
  const batch: UnaryMethod = (_request, reply) => {
    replies.push(reply);
    if (replies.length > 1) return;
    queueMicrotask(() => {
      for (const each of replies) each.send(Buffer.from('decided'));
    });
  };
  const { client, writes } = await serveCounted(t, { '/s/Batch': batch });
  client.send(...allCalls('/s/Batch'));
  for (const id of IDS) await client.answer(id);
  t.equal(writes.length, 1);
});

t.test('and those that are answered together later', async t => {
  const held = new HeldCalls();
  const { client, writes } = await serveCounted(t, { '/s/Hold': held.method });
  client.send(...allCalls('/s/Hold'));
  await held.arrived(IDS.length);
  t.equal(writes.length, 0);
  for (const reply of held.replies) reply.send(Buffer.from('decided'));
  for (const id of IDS) await client.answer(id);
  t.equal(writes.length, 1);
});

t.test('a read without an answer writes nothing', async t => {
  const held = new HeldCalls();
  const { client, writes } = await serveCounted(t, { '/s/Hold': held.method });
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  t.equal(writes.length, 0);
});

t.test('a message of a stream is written at once, whenever it is sent', async t => {
  const opened = Promise.withResolvers<ReplyStream>();
  const watch: StreamMethod = (_request, stream) => opened.resolve(stream);
  const { client, writes } = await serveCounted(t, {}, { '/s/Watch': watch });
  client.send(grpcCall(1, '/s/Watch'));
  const stream = await opened.promise;
  for (const sent of [1, 2]) {
    await new Promise(resolve => setImmediate(resolve));
    stream.send(Buffer.from('changed'));
    await new Promise(resolve => setImmediate(resolve));
    t.equal(writes.length, sent);
  }
});
