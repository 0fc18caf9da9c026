import t from 'tap';
import { HeldCalls } from '../../exam/grpc-examinee.ts';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
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
} from '../../support/wire-frames.ts';
import { attacked, isOver, isServed, takesNoMemory } from './attack.ts';

const REQUEST = fieldBlock(grpcFields('/s/Echo'));

/** A request whose message lacks its last octet. */
function unfinished(id: number, bytes: number): Buffer {
  return Buffer.concat([headers(id, REQUEST), data(id, grpcMessage(Buffer.alloc(bytes)).subarray(0, -1))]);
}

function many(count: number, framesOf: (id: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => framesOf(2 * i + 1)));
}

t.test('unfinished messages of a connection are bounded, and those beyond are refused', async t => {
  const maxHeldBytes = 100_000;
  const { client, ...serving } = await attacked(t, { limits: { calls: { maxHeldBytes } } });
  client.send(many(200, id => unfinished(id, 5_000)));
  await client.settled();
  const { heldBytes, streamCount } = serving.server;
  t.ok(heldBytes > maxHeldBytes / 2 && heldBytes <= maxHeldBytes, `${heldBytes} bytes`);
  t.ok(streamCount >= 10 && streamCount <= 20, `${streamCount} streams`);
  t.equal((await client.answer(399)).fields['grpc-status'], '8');
  await isServed(t, serving);
  client.send(data(1, Buffer.alloc(1), FLAGS.endStream));
  t.equal((await client.answer(1)).content.length, 5_005, 'those that were admitted may end');
  await isOver(t, serving, client);
});

const ENDLESS: Record<string, { block: Buffer; answered: Record<string, string> }> = {
  'requests without any message': { block: REQUEST, answered: { 'grpc-status': '8' } },
  'requests that are no calls': {
    block: fieldBlock(grpcFields('/s/Echo', { ':method': 'GET' })),
    answered: { ':status': '405' },
  },
};

for (const [name, { block, answered }] of Object.entries(ENDLESS)) {
  t.test(`${name} and do not end count as well, and are answered early beyond the bound`, async t => {
    const { client, ...serving } = await attacked(t, { limits: { calls: { maxHeldBytes: 100_000 } } });
    client.send(many(500, id => headers(id, block)));
    t.match((await client.answer(999)).fields, answered);
    t.ok(serving.server.streamCount < 100, `${serving.server.streamCount} streams`);
    await isOver(t, serving, client);
  });
}

t.test('a request that is no call and does not end is answered in time', async t => {
  const { client, clock, server } = await attacked(t, { limits: { calls: { requestMs: 20_000 } } });
  client.send(
    headers(1, fieldBlock(grpcFields('/s/Echo', { ':method': 'PUT' }))),
    data(1, Buffer.alloc(100)),
  );
  await client.settled();
  clock.advance(15_000);
  client.send(data(1, Buffer.alloc(100)));
  await client.settled();
  t.equal(server.streamCount, 1);
  clock.advance(6_000);
  t.equal((await client.answer(1)).fields[':status'], '405');
  t.strictSame([server.streamCount, server.heldBytes], [0, 0]);
});

t.test('content behind an answer that waits for its window takes no memory', async t => {
  const { client, ...serving } = await attacked(t, {}, [PARAMETER.initialWindowSize, 0]);
  const connect = fieldBlock([
    [':method', 'CONNECT'],
    [':authority', 'localhost:1'],
  ]);
  const put = fieldBlock(grpcFields('/s/Echo', { ':method': 'PUT' }));
  client.send(headers(1, connect), data(1, grpcMessage().subarray(0, 3)));
  client.send(headers(3, put), ...Array.from({ length: 6 }, () => data(3, Buffer.alloc(16_384, 1))));
  await client.settled();
  t.strictSame([serving.server.streamCount, serving.server.heldBytes], [2, 0]);
  t.strictSame(serving.log, []);
  await isOver(t, serving, client);
});

t.test('an announced length takes no memory', async t => {
  const { client, ...serving } = await attacked(t);
  const announced = Buffer.from([0, 0, 0x3f, 0xff, 0xff]);
  client.send(many(900, id => Buffer.concat([headers(id, REQUEST), data(id, announced)])));
  await client.settled();
  t.equal(serving.server.streamCount, 900);
  t.ok(serving.server.heldBytes < 1_048_576, `${serving.server.heldBytes} bytes`);
  await isOver(t, serving, client);
});

t.test('of all connections those are cut that hold the most, before there is no room for others', async t => {
  const serving = await serveOwn(t, {
    limits: { maxHeldBytes: 1_000_000, calls: { maxHeldBytes: 400_000 } },
  });
  const { server, log, clock } = serving;
  await isServed(t, serving);
  const modest = await WireClient.open(t, server.address);
  modest.send(unfinished(1, 3_000));
  await modest.settled();
  let worst = 0;
  for (let round = 0; round < 12; round++) {
    const client = await WireClient.open(t, server.address);
    client.send(many(60, id => unfinished(id, 5_000)));
    // It is told, or cut.
    await client.settled().catch(() => {});
    worst = Math.max(worst, server.heldBytes);
    await isServed(t, serving);
  }
  t.ok(worst > 500_000 && worst <= 1_000_000, `${worst} bytes at most`);
  modest.send(data(1, Buffer.alloc(1), FLAGS.endStream));
  t.equal((await modest.answer(1)).content.length, 3_005, 'who holds little keeps it');
  const warnings = () => log.filter(({ level }) => level === 'warning');
  t.strictSame(warnings(), []);
  clock.advance(1_000);
  t.match(warnings(), [
    { '@message': 'Closed gRPC connections to free memory', reason: /unfinished requests/, bytes: Number },
  ]);
  t.ok(Number(warnings()[0]['connections']) > 1, 'one line for all of them');
});

t.test('a request that does not come to its end is given up in time', async t => {
  const { client, ...serving } = await attacked(t, { limits: { calls: { requestMs: 20_000 } } });
  const { clock, server } = serving;
  client.send(unfinished(1, 100), headers(3, REQUEST));
  await client.settled();
  clock.advance(15_000);
  client.send(unfinished(5, 100));
  await client.settled();
  clock.advance(6_000);
  for (const id of [1, 3]) {
    const { fields } = await client.answer(id);
    t.match(fields, { 'grpc-status': '4', 'grpc-message': 'the request was not complete within 20000 ms' });
  }
  t.equal(server.streamCount, 1, 'a later one has time left');
  client.send(data(1, Buffer.alloc(1), FLAGS.endStream), data(5, Buffer.alloc(1), FLAGS.endStream));
  t.equal((await client.answer(5)).fields['grpc-status'], '0');
  await isOver(t, serving, client);
});

t.test('a call that has its request is not given up', async t => {
  const held = new HeldCalls();
  const { client, clock } = await attacked(t, {
    limits: { calls: { requestMs: 5_000 } },
    unary: { '/s/Hold': held.method },
  });
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  clock.advance(60_000);
  await client.settled();
  held.replies[0].send(Buffer.from('at last'));
  t.equal((await client.answer(1)).fields['grpc-status'], '0');
});

t.test('messages beyond the limit are refused at their prefix, and take no memory', async t => {
  const { client, ...serving } = await attacked(t, { options: { maxMessageBytes: 100_000 } });
  const oversize = grpcMessage(Buffer.alloc(100_001));
  for (let call = 0; call < 50; call++) {
    const id = 2 * call + 1;
    client.send(
      headers(id, REQUEST),
      data(id, oversize.subarray(0, 16_384)),
      data(id, oversize.subarray(16_384, 32_768)),
    );
    t.equal((await client.answer(id)).fields['grpc-status'], '8');
    t.equal(serving.server.heldBytes, 0);
  }
  await isOver(t, serving, client);
});

t.test('very many deadlines pass without holding up the others', async t => {
  const held = new HeldCalls();
  const { client, ...serving } = await attacked(t, {
    unary: { '/s/Hold': held.method },
    limits: { connection: { maxStreams: 5_000 } },
  });
  const { server, clock } = serving;
  client.send(
    many(3_000, id => {
      const block = fieldBlock(grpcFields('/s/Hold', { 'grpc-timeout': `${10_000 + id}m` }));
      return Buffer.concat([headers(id, block), data(id, grpcMessage(), FLAGS.endStream)]);
    }),
  );
  await held.arrived(3_000);
  t.equal(server.deadlineCount, 3_000);
  clock.advance(13_000);
  await isServed(t, serving);
  t.ok(
    server.deadlineCount > 1_400 && server.deadlineCount < 1_600,
    `${server.deadlineCount} have time left`,
  );
  clock.advance(4_000);
  for (const id of [1, 5_999]) t.equal((await client.answer(id)).fields['grpc-status'], '4');
  await isOver(t, serving, client);
});

t.test('unfinished requests leave the memory as it was', async t => {
  const { server } = await serveOwn(t);
  const frames = many(900, id => unfinished(id, 1_000));
  const attack = async (): Promise<void> => {
    const client = await WireClient.open(t, server.address);
    client.send(frames);
    await client.settled();
    client.socket.destroy();
    await connectionsDownTo(server, 0);
  };
  await takesNoMemory(t, attack, 10);
});
