import { gzipSync } from 'node:zlib';
import t from 'tap';
import { serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import { data, FLAGS, fieldBlock, grpcFields, grpcMessage, headers } from '../../support/wire-frames.ts';
import { takesNoMemory } from './attack.ts';

const MAX = 1_048_576;
const GZIP = fieldBlock(grpcFields('/s/Count', { 'grpc-encoding': 'gzip' }));

function compressedCall(id: number, compressed: Uint8Array): Buffer {
  return Buffer.concat([headers(id, GZIP), data(id, grpcMessage(compressed, 1), FLAGS.endStream)]);
}

async function counting(t: Parameters<typeof serveOwn>[0]) {
  const lengths: number[] = [];
  const serving = await serveOwn(t, {
    unary: {
      '/s/Count': (request, reply) => {
        lengths.push(request.length);
        reply.send(Buffer.alloc(0));
      },
    },
    limits: { inflation: { burst: 3 * MAX, perSecond: MAX, perRequest: 0 } },
    options: { maxMessageBytes: MAX },
  });
  return { ...serving, lengths };
}

t.test('a bomb is inflated to the limit on messages and no further, and costs its call only', async t => {
  const { server, honest, lengths } = await counting(t);
  const client = await WireClient.open(t, server.address);
  client.send(compressedCall(1, gzipSync(Buffer.alloc(10 * MAX))));
  t.match((await client.answer(1)).fields, { 'grpc-status': '8', 'grpc-message': /exceeds the size limit/ });
  client.send(compressedCall(3, gzipSync('abc')));
  t.match((await client.answer(3)).fields, { 'grpc-status': '0' });
  t.strictSame(lengths, [3]);
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  t.equal(server.heldBytes, 0);
});

t.test('many bombs, on any number of connections, are refused until time has paid for them', async t => {
  const { server, honest, clock, lengths } = await counting(t);
  const bomb = gzipSync(Buffer.alloc(MAX));
  const statuses: (string | undefined)[] = [];
  for (let i = 0; i < 6; i++) {
    const client = await WireClient.open(t, server.address);
    client.send(compressedCall(1, bomb));
    statuses.push((await client.answer(1)).fields['grpc-status']);
    if (i < 5) continue;
    client.send(compressedCall(3, gzipSync(JSON.stringify({ domain: 'shop' }))));
    t.equal((await client.answer(3)).fields['grpc-status'], '0', 'ordinary messages still come through');
    clock.advance(1_000);
    client.send(compressedCall(5, bomb));
    t.equal((await client.answer(5)).fields['grpc-status'], '0');
  }
  t.strictSame(statuses.slice(0, 3), ['0', '0', '0']);
  t.strictSame(statuses.slice(4), ['8', '8']);
  t.equal(lengths.filter(length => length === MAX).length, 4);
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0, 'calls without compression go on');
});

t.test('bombs leave the memory as it was', async t => {
  const { server, clock } = await counting(t);
  const client = await WireClient.open(t, server.address);
  const bomb = gzipSync(Buffer.alloc(10 * MAX));
  let id = 1;
  const attack = async (): Promise<void> => {
    for (let i = 0; i < 5; i++, id += 2) {
      client.send(compressedCall(id, bomb));
      t.equal((await client.answer(id)).fields['grpc-status'], '8');
      clock.advance(1_000);
    }
    client.frames.length = 0;
    client.received.length = 0;
  };
  await takesNoMemory(t, attack, 8, MAX);
  t.equal(server.heldBytes, 0);
});
