import t from 'tap';
import type { UnaryMethod } from '../../../src/grpc/service.ts';
import { IMMEDIATE_WORK, LEAST_SHARE, TURN_WORK } from '../../../src/transports/grpc/connection-turns.ts';
import { serveOwn } from '../../support/own-server.ts';
import { until } from '../../support/until.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  data,
  FLAGS,
  fieldBlock,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  PARAMETER,
  ping,
} from '../../support/wire-frames.ts';

const FLOODERS = 40;
const CALLS = 400;

/** Work that one turn of the event loop does, and one frame more: what was begun, the turn, and the next one's. */
const BEFORE_HONEST = IMMEDIATE_WORK + 2 * TURN_WORK;

function calls(path: string): Buffer {
  return Buffer.concat(Array.from({ length: CALLS }, (_, i) => grpcCall(2 * i + 1, path)));
}

t.test('with the buffers of many connections full, an honest call is answered within a round', async t => {
  let flooded = 0;
  const count: UnaryMethod = (_request, reply) => {
    flooded++;
    reply.send(Buffer.alloc(0));
  };
  const { server } = await serveOwn(t, { unary: { '/s/Count': count } });
  const window = [PARAMETER.initialWindowSize, 2 ** 31 - 1] as const;
  const flooders = await Promise.all(
    Array.from({ length: FLOODERS }, () => WireClient.open(t, server.address, window)),
  );
  const honest = await WireClient.open(t, server.address);
  t.equal(await honest.call(1, '/s/Echo', 'on'), '0');
  const flood = calls('/s/Count');
  for (const client of flooders) client.send(flood);
  for (let call = 1; call <= 5; call++) {
    const before = flooded;
    t.equal(await honest.call(2 * call + 1, '/s/Echo', 'on'), '0');
    const work = (flooded - before) * (flood.length / CALLS);
    // At first nobody has had less than the others. The client is in the same process, so reading takes turns as well.
    const most = call === 1 ? FLOODERS * LEAST_SHARE + BEFORE_HONEST : 2 * BEFORE_HONEST;
    t.ok(work <= most, `${flooded - before} other calls came before call ${call}`);
  }
  t.ok(flooded < FLOODERS * CALLS, 'while others wait');
  for (const client of flooders) t.equal((await client.answer(2 * CALLS - 1)).fields['grpc-status'], '0');
  t.equal(flooded, FLOODERS * CALLS, 'everything is answered in the end');
  t.equal(server.heldBytes, 0);
});

t.test('input that waits is handled in its order, whatever the frames', async t => {
  const size: UnaryMethod = (request, reply) => reply.send(Buffer.from(String(request.length)));
  const { server } = await serveOwn(t, { unary: { '/s/Size': size } });
  const clients = await Promise.all(Array.from({ length: 10 }, () => WireClient.open(t, server.address)));
  const block = fieldBlock(grpcFields('/s/Size'));
  const content = grpcMessage(Buffer.alloc(40_000, 0x61));
  const pieces = [content.subarray(0, 16_384), content.subarray(16_384, 32_768), content.subarray(32_768)];
  const call = (id: number): Buffer =>
    Buffer.concat([
      headers(id, block),
      ...pieces.map((piece, i) => data(id, piece, i === 2 ? FLAGS.endStream : 0)),
      ping(`call${String(id).padStart(4, '0')}`),
    ]);
  for (const client of clients) client.send(...[1, 3, 5, 7, 9].map(call));
  for (const client of clients) {
    for (const id of [1, 3, 5, 7, 9]) t.equal((await client.answer(id)).content.toString('utf8', 5), '40000');
    await client.settled();
    const pongs = client.frames.filter(({ type }) => type === 6).map(({ payload }) => payload.toString());
    t.strictSame(
      pongs.filter(text => text.startsWith('call')),
      [1, 3, 5, 7, 9].map(id => `call000${id}`),
    );
  }
});

t.test('a connection that ends while its input waits leaves nothing behind', async t => {
  const { server } = await serveOwn(t);
  const clients = await Promise.all(Array.from({ length: 20 }, () => WireClient.open(t, server.address)));
  for (const client of clients) client.send(calls('/s/Echo'));
  await new Promise(resolve => setImmediate(resolve));
  for (const client of clients) client.socket.resetAndDestroy();
  await until(() => server.connectionCount <= 0);
  t.strictSame([server.streamCount, server.heldBytes, server.queuedBytes], [0, 0, 0]);
});
