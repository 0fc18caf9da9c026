import t from 'tap';
import { HeldCalls } from '../../exam/grpc-examinee.ts';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
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
import { attacked, isOver, isServed, takesNoMemory } from './attack.ts';

const REQUEST = fieldBlock(grpcFields('/s/Echo'));

function idOf(call: number): number {
  return 2 * call + 1;
}

/** Frames of many streams, in one piece. */
function streams(count: number, framesOf: (id: number) => Buffer, from = 0): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => framesOf(idOf(from + i))));
}

for (const [name, framesOf] of [
  ['whose requests have begun', (id: number) => Buffer.concat([headers(id, REQUEST), rstStream(id)])],
  ['that are being decided', (id: number) => Buffer.concat([grpcCall(id, '/s/Hold'), rstStream(id)])],
] as const) {
  t.test(`rapid resets of calls ${name} end the connection with ENHANCE_YOUR_CALM`, async t => {
    const held = new HeldCalls();
    const resets = { burst: 100, perSecond: 10, perRequest: 0.5 };
    const limits = { connection: { resets } };
    const { client, ...serving } = await attacked(t, { limits, unary: { '/s/Hold': held.method } });
    client.send(streams(300, framesOf));
    t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
    t.match(await client.goAwayText(), /too many reset or refused streams/);
    t.ok(held.replies.length <= 202, 'work for it ends with the connection');
    await client.ended;
    await isOver(t, serving, client);
  });
}

t.test('a caller that gives up on calls which take long is not taken for that', async t => {
  const held = new HeldCalls();
  const limits = { connection: { resets: { burst: 10, perSecond: 1, perRequest: 0.1 }, patienceMs: 10 } };
  const { server, clock, client } = await attacked(t, { limits, unary: { '/s/Hold': held.method } });
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
    const { server, clock, honest, client } = await attacked(t, {
      limits: { calls: { maxAbandoned: 50 } },
      unary: { '/s/Hold': held.method },
    });
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
  const { server } = await serveOwn(t);
  const flood = streams(3_000, id => Buffer.concat([headers(id, REQUEST), rstStream(id)]));
  const attack = async (): Promise<void> => {
    const client = await WireClient.open(t, server.address);
    client.send(flood);
    await client.ended;
    client.socket.destroy();
    await connectionsDownTo(server, 0);
  };
  await takesNoMemory(t, attack, 30);
});

t.test('streams beyond the limit are refused, and those within it are served', async t => {
  const held = new HeldCalls();
  const limits = { connection: { maxStreams: 20 } };
  const { client, ...serving } = await attacked(t, { limits, unary: { '/s/Hold': held.method } });
  client.send(streams(50, id => grpcCall(id, '/s/Hold')));
  for (let call = 20; call < 50; call++)
    t.equal((await client.answer(idOf(call))).reset, ERRORS.refusedStream, 'safe to try again');
  t.equal(serving.server.streamCount, 20);
  t.equal(held.replies.length, 20);
  await isServed(t, serving);
  for (const reply of held.replies) reply.send(Buffer.alloc(0));
  for (let call = 0; call < 20; call++) t.equal((await client.answer(idOf(call))).fields['grpc-status'], '0');
  t.equal(await client.call(idOf(50), '/s/Echo'), '0');
});

t.test('a flood of streams beyond the limit ends the connection', async t => {
  const limits = { connection: { maxStreams: 20, resets: { burst: 100, perSecond: 1, perRequest: 0.5 } } };
  const { client, ...serving } = await attacked(t, { limits });
  client.send(streams(500, id => headers(id, REQUEST)));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  await client.ended;
  await isOver(t, serving, client);
});

t.test('a flood of malformed requests ends the connection', async t => {
  const streamFaults = { burst: 30, perSecond: 1, perRequest: 0 };
  const { client, ...serving } = await attacked(t, { limits: { connection: { streamFaults } } });
  const malformed = fieldBlock([...grpcFields('/s/Echo'), ['connection', 'close']]);
  client.send(streams(30, id => headers(id, malformed)));
  for (let call = 0; call < 30; call++)
    t.equal((await client.answer(idOf(call))).reset, ERRORS.protocolError);
  t.equal(await client.call(idOf(30), '/s/Echo'), '0', 'within the allowance each costs its stream only');
  client.send(headers(idOf(31), malformed));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  await client.ended;
  await isOver(t, serving, client);
});

t.test('an error of the connection leaves nothing, and answers what came before', async t => {
  const { client, ...serving } = await attacked(t);
  client.send(grpcCall(1, '/s/Echo'), headers(3, REQUEST), data(3, grpcMessage('half')), rstStream(7));
  t.equal((await client.answer(1)).fields['grpc-status'], '0');
  t.equal(await client.goAway(), ERRORS.protocolError);
  await client.ended;
  await isOver(t, serving, client);
});

t.test('data on a stream whose request has ended costs that stream only', async t => {
  const held = new HeldCalls();
  const { client } = await attacked(t, { unary: { '/s/Hold': held.method } });
  client.send(grpcCall(1, '/s/Hold'), data(1, grpcMessage(), FLAGS.endStream));
  t.equal((await client.answer(1)).reset, ERRORS.streamClosed);
  held.replies[0].send(Buffer.from('late'));
  t.equal(await client.call(3, '/s/Echo'), '0');
  t.equal(client.frames.filter(({ stream, type }) => stream === 1 && type === TYPE.headers).length, 0);
});
