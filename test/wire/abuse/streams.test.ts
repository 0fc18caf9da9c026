import t, { type Test } from 'tap';
import { HeldCalls } from '../../exam/grpc-examinee.ts';
import { heldMemory } from '../../support/memory.ts';
import { connectionsDownTo, type OwnServing, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  data,
  ERRORS,
  FLAGS,
  fieldBlock,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  rstStream,
  TYPE,
} from '../../support/wire-frames.ts';

const REQUEST = fieldBlock(grpcFields('/s/Echo'));

function idOf(call: number): number {
  return 2 * call + 1;
}

/** Frames of many streams, in one piece. */
function streams(count: number, framesOf: (id: number) => Buffer, from = 0): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => framesOf(idOf(from + i))));
}

/** That the attacker is gone and left nothing, and that an honest client is served. */
async function isOver(t: Test, { server, honest }: OwnServing, attacker: WireClient): Promise<void> {
  await attacker.ended;
  attacker.socket.destroy();
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  await connectionsDownTo(server, 1);
  t.strictSame(
    [server.streamCount, server.queuedBytes, server.heldBytes, server.deadlineCount],
    [0, 0, 0, 0],
    'nothing of it is left',
  );
}

for (const [name, framesOf] of [
  ['whose requests have begun', (id: number) => Buffer.concat([headers(id, REQUEST), rstStream(id)])],
  ['that are being decided', (id: number) => Buffer.concat([grpcCall(id, '/s/Hold'), rstStream(id)])],
] as const) {
  t.test(`rapid resets of calls ${name} end the connection with ENHANCE_YOUR_CALM`, async t => {
    const held = new HeldCalls();
    const resets = { burst: 100, perSecond: 10, perRequest: 0.5 };
    const serving = await serveOwn(t, {
      limits: { connection: { resets } },
      unary: { '/s/Hold': held.method },
    });
    const client = await WireClient.open(t, serving.server.address);
    client.send(streams(300, framesOf));
    t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
    t.match(await client.goAwayText(), /too many reset or refused streams/);
    t.ok(held.replies.length <= 202, 'work for it ends with the connection');
    await isOver(t, serving, client);
  });
}

t.test('a caller that gives up on calls which take long is not taken for that', async t => {
  const held = new HeldCalls();
  const limits = { connection: { resets: { burst: 10, perSecond: 1, perRequest: 0.1 }, patienceMs: 10 } };
  const { server, clock } = await serveOwn(t, { limits, unary: { '/s/Hold': held.method } });
  const client = await WireClient.open(t, server.address);
  for (let call = 0; call < 100; call++) {
    client.send(grpcCall(idOf(call), '/s/Hold'));
    await held.arrived(call + 1);
    clock.advance(10);
    client.send(rstStream(idOf(call)));
  }
  t.equal(await client.call(idOf(100), '/s/Echo'), '0');
  t.equal(server.streamCount, 0);
});

for (const [name, fields, giveUp] of [
  ['reset', {}, (id: number) => rstStream(id)],
  ['let their deadline pass', { 'grpc-timeout': '10m' }, () => Buffer.alloc(0)],
] as const) {
  t.test(`callers that ${name} leave only so much work behind`, async t => {
    const held = new HeldCalls();
    const { server, clock, honest } = await serveOwn(t, {
      limits: { calls: { maxAbandoned: 50 } },
      unary: { '/s/Hold': held.method },
    });
    const client = await WireClient.open(t, server.address);
    const block = fieldBlock(grpcFields('/s/Hold', fields));
    let calls = 0;
    const abandon = async (count: number): Promise<void> => {
      const ids = Array.from({ length: count }, () => idOf(calls++));
      client.send(
        ...ids.map(id => headers(id, block)),
        ...ids.map(id => data(id, grpcMessage(), FLAGS.endStream)),
      );
      await client.settled();
      clock.advance(11);
      client.send(...ids.map(giveUp));
      await client.settled();
      t.equal(server.streamCount, 0);
    };
    await abandon(30);
    await abandon(30);
    t.equal(held.replies.length, 60, 'the last ones were within the bound when they came');
    await abandon(30);
    t.equal(held.replies.length, 60, 'no more work is taken on');
    client.send(grpcCall(idOf(calls), '/s/Echo'));
    t.match((await client.answer(idOf(calls++))).fields, {
      'grpc-status': '8',
      'grpc-message': /canceled or expired calls/,
    });
    t.equal((await honest.unary('/s/Echo', 'on')).status, 0, 'other connections are served');
    for (const reply of held.replies.splice(0, 10)) reply.send(Buffer.alloc(0));
    t.equal(await client.call(idOf(calls++), '/s/Echo'), '8', 'still at the bound');
    for (const reply of held.replies.splice(0, 25)) reply.fail(14, 'late');
    t.equal(await client.call(idOf(calls++), '/s/Echo'), '0', 'what is done makes room');
    for (const reply of held.replies.splice(0)) reply.send(Buffer.alloc(0));
    await abandon(40);
    t.equal(held.replies.length, 40);
  });
}

t.test('rapid resets leave the memory as it was', async t => {
  const { server, honest } = await serveOwn(t);
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
  const flood = streams(3_000, id => Buffer.concat([headers(id, REQUEST), rstStream(id)]));
  const attack = async (): Promise<void> => {
    const client = await WireClient.open(t, server.address);
    client.send(flood);
    await client.ended;
    client.socket.destroy();
    await connectionsDownTo(server, 1);
  };
  await attack();
  const before = await heldMemory();
  for (let round = 0; round < 30; round++) await attack();
  const grown = (await heldMemory()) - before;
  t.ok(grown < 2 * 1_048_576, `grown by ${grown} bytes`);
});

t.test('streams beyond the limit are refused, and those within it are served', async t => {
  const held = new HeldCalls();
  const limits = { connection: { maxStreams: 20 } };
  const serving = await serveOwn(t, { limits, unary: { '/s/Hold': held.method } });
  const client = await WireClient.open(t, serving.server.address);
  client.send(streams(50, id => grpcCall(id, '/s/Hold')));
  for (let call = 20; call < 50; call++)
    t.equal((await client.answer(idOf(call))).reset, ERRORS.refusedStream, 'safe to try again');
  t.equal(serving.server.streamCount, 20);
  t.equal(held.replies.length, 20);
  t.equal((await serving.honest.unary('/s/Echo', 'on')).status, 0);
  for (const reply of held.replies) reply.send(Buffer.alloc(0));
  for (let call = 0; call < 20; call++) t.equal((await client.answer(idOf(call))).fields['grpc-status'], '0');
  t.equal(await client.call(idOf(50), '/s/Echo'), '0');
});

t.test('a flood of streams beyond the limit ends the connection', async t => {
  const limits = { connection: { maxStreams: 20, resets: { burst: 100, perSecond: 1, perRequest: 0.5 } } };
  const serving = await serveOwn(t, { limits });
  const client = await WireClient.open(t, serving.server.address);
  client.send(streams(500, id => headers(id, REQUEST)));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  await isOver(t, serving, client);
});

t.test('a flood of malformed requests ends the connection', async t => {
  const streamFaults = { burst: 30, perSecond: 1, perRequest: 0 };
  const serving = await serveOwn(t, { limits: { connection: { streamFaults } } });
  const client = await WireClient.open(t, serving.server.address);
  const malformed = fieldBlock([...grpcFields('/s/Echo'), ['connection', 'close']]);
  client.send(streams(30, id => headers(id, malformed)));
  for (let call = 0; call < 30; call++)
    t.equal((await client.answer(idOf(call))).reset, ERRORS.protocolError);
  t.equal(await client.call(idOf(30), '/s/Echo'), '0', 'within the allowance each costs its stream only');
  client.send(headers(idOf(31), malformed));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  await isOver(t, serving, client);
});

const FATAL: Record<string, { frames: Buffer; code: number }> = {
  'a stream id below the last one': {
    frames: Buffer.concat([grpcCall(5, '/s/Echo'), grpcCall(3, '/s/Echo')]),
    code: ERRORS.protocolError,
  },
  'an even stream id': { frames: grpcCall(2, '/s/Echo'), code: ERRORS.protocolError },
  'headers on a stream that was answered': {
    frames: Buffer.concat([grpcCall(1, '/s/Echo'), headers(1, REQUEST)]),
    code: ERRORS.streamClosed,
  },
  'data on a stream that was answered': {
    frames: Buffer.concat([grpcCall(1, '/s/Echo'), data(1, grpcMessage())]),
    code: ERRORS.streamClosed,
  },
  'data on a stream that the peer has reset, behind its end': {
    frames: Buffer.concat([
      headers(1, REQUEST),
      rstStream(1),
      data(1, grpcMessage(), FLAGS.endStream),
      data(1, grpcMessage()),
    ]),
    code: ERRORS.streamClosed,
  },
  'data on an idle stream': { frames: data(7, grpcMessage()), code: ERRORS.protocolError },
  'a reset of an idle stream': { frames: rstStream(7), code: ERRORS.protocolError },
};

for (const [name, { frames, code }] of Object.entries(FATAL)) {
  t.test(`${name} ends the connection, after what came before was answered`, async t => {
    const serving = await serveOwn(t);
    const client = await WireClient.open(t, serving.server.address);
    client.send(frames);
    t.equal(await client.goAway(), code);
    await isOver(t, serving, client);
  });
}

t.test('data on a stream whose request has ended costs that stream only', async t => {
  const held = new HeldCalls();
  const serving = await serveOwn(t, { unary: { '/s/Hold': held.method } });
  const client = await WireClient.open(t, serving.server.address);
  client.send(grpcCall(1, '/s/Hold'), data(1, grpcMessage(), FLAGS.endStream));
  t.equal((await client.answer(1)).reset, ERRORS.streamClosed);
  held.replies[0].send(Buffer.from('late'));
  t.equal(await client.call(3, '/s/Echo'), '0');
  t.equal(client.frames.filter(({ stream, type }) => stream === 1 && type === TYPE.headers).length, 0);
});
