import t, { type Test } from 'tap';
import type { ReplyStream } from '../../../../src/grpc/service.ts';
import { HeldCalls } from '../../../exam/grpc-examinee.ts';
import { Conversations } from '../../../support/conversations.ts';
import { connectionsDownTo, type OwnServed, serveOwn } from '../../../support/own-server.ts';
import { until } from '../../../support/until.ts';
import { WireClient } from '../../../support/wire-client.ts';
import {
  CLIENT_PREFACE,
  data,
  ERRORS,
  type Frame,
  fieldBlock,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  pingAck,
  settings,
  TYPE,
} from '../../../support/wire-frames.ts';

const AGE_MS = 100_000;

async function aged(t: Test, served: OwnServed = {}) {
  const held = new HeldCalls();
  const serving = await serveOwn(t, {
    ...served,
    unary: { '/s/Hold': held.method },
    options: { maxConnectionAgeMs: AGE_MS, ...served.options },
  });
  const client = await WireClient.open(t, serving.server.address);
  return { ...serving, held, client };
}

const isGoAway = ({ type }: Frame): boolean => type === TYPE.goAway;
const isPing = ({ type, flags }: Frame): boolean => type === TYPE.ping && flags === 0;

/** The highest stream that a GOAWAY promises to look at. */
function lastStreamOf(frame: Frame): number {
  return frame.payload.readUInt32BE(0);
}

for (const [random, ageMs] of [
  [0, 0.9 * AGE_MS],
  [0.5, AGE_MS],
  [0.75, 1.05 * AGE_MS],
  [1 - 2 ** -53, 1.1 * AGE_MS],
] as const) {
  t.test(`with ${random} drawn, a connection gets GOAWAY at an age of ${ageMs} ms`, async t => {
    const { clock, client } = await aged(t, { random: () => random });
    clock.advance(ageMs - 1);
    await client.settled();
    t.notOk(client.frames.some(isGoAway));
    clock.advance(1);
    t.equal(await client.goAway(), ERRORS.noError);
    await client.ended;
  });
}

t.test('the age begins with the first bytes of the peer, whose first call is not met by GOAWAY', async t => {
  const { clock, server } = await serveOwn(t, { options: { maxConnectionAgeMs: 5_000 } });
  const client = await WireClient.connect(t, server.address);
  await until(() => server.connectionCount === 1);
  clock.advance(9_000);
  t.equal(server.moveSome(1), 0, 'it is not asked to move either');
  client.send(CLIENT_PREFACE, settings());
  t.equal(await client.call(1, '/s/Echo'), '0');
  t.notOk(client.frames.some(isGoAway));
  clock.advance(5_000);
  await client.goAway();
});

t.test('each connection draws its own age', async t => {
  const draws = [0, 1 - 2 ** -53];
  const { clock, server, client: first } = await aged(t, { random: () => draws.shift() ?? 0.5 });
  const second = await WireClient.open(t, server.address);
  clock.advance(0.9 * AGE_MS);
  await first.goAway();
  await second.settled();
  t.notOk(second.frames.some(isGoAway));
  clock.advance(0.2 * AGE_MS);
  await second.goAway();
});

t.test('the running call of an aged connection is answered, and so is one that crosses GOAWAY', async t => {
  const { clock, client, held } = await aged(t);
  client.answersPings = false;
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  clock.advance(AGE_MS);
  t.equal(lastStreamOf(await client.frame(isGoAway)), 0x7fff_ffff, 'no stream is left out yet');
  const ping = await client.frame(isPing);
  t.equal(await client.call(3, '/s/Echo'), '0');
  client.send(pingAck(ping.payload));
  t.equal(lastStreamOf(await client.frame(frame => isGoAway(frame) && lastStreamOf(frame) < 0x7fff_ffff)), 3);
  client.send(grpcCall(5, '/s/Echo'));
  await client.settled();
  t.notOk(
    client.frames.some(({ stream }) => stream === 5),
    'what comes behind the second GOAWAY is not looked at',
  );
  held.replies[0].send(Buffer.from('done'));
  t.equal((await client.answer(1)).content.toString('utf8', 5), 'done');
  await client.ended;
});

/** The beginning of a call whose requests are a stream. */
function talk(id: number): Buffer {
  return headers(id, fieldBlock(grpcFields('/s/Talk')));
}

t.test('a stream of requests ends behind GOAWAY when its connection has reached its age', async t => {
  const conversations = new Conversations();
  const { clock, client } = await aged(t, { bidi: { '/s/Talk': conversations.method } });
  client.send(talk(1), data(1, grpcMessage('on')));
  await conversations.arrived(2);
  clock.advance(AGE_MS);
  const { fields, content } = await client.answer(1);
  t.match(fields, { 'grpc-status': '14', 'grpc-message': /reconnect/ });
  t.equal(content.toString('utf8', 5), 'on', 'after its answers');
  t.strictSame(conversations.heard, ['begun', 'on', 'closed']);
  const types = client.frames.map(({ type }) => type);
  t.ok(types.indexOf(TYPE.goAway) < types.lastIndexOf(TYPE.headers), 'the client knows where not to go on');
  await client.ended;
});

t.test('a stream of requests that crosses GOAWAY is ended at once, and its method is not called', async t => {
  const conversations = new Conversations();
  const { clock, client } = await aged(t, { bidi: { '/s/Talk': conversations.method } });
  client.answersPings = false;
  clock.advance(AGE_MS);
  await client.goAway();
  client.send(talk(1), data(1, grpcMessage('on')));
  t.match((await client.answer(1)).fields, { 'grpc-status': '14', 'grpc-message': /reconnect/ });
  t.strictSame(conversations.heard, []);
});

t.test('a stream of answers alone goes on when its connection has reached its age', async t => {
  const streams: ReplyStream[] = [];
  const { clock, client } = await aged(t, {
    streaming: { '/s/Watch': (_request, stream) => streams.push(stream) },
  });
  client.send(grpcCall(1, '/s/Watch'));
  await client.settled();
  clock.advance(AGE_MS);
  await client.goAway();
  streams[0].send(Buffer.from('on'));
  streams[0].end(0, '');
  t.equal((await client.answer(1)).fields['grpc-status'], '0');
});

t.test('without a grace time a call may run on', async t => {
  const { clock, client, held } = await aged(t);
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  clock.advance(AGE_MS);
  await client.goAway();
  for (let day = 0; day < 3; day++) {
    await client.settled();
    clock.advance(15_000);
  }
  held.replies[0].send(Buffer.from('done'));
  t.equal((await client.answer(1)).content.toString('utf8', 5), 'done');
});

t.test('calls go on if a connection reaches its age while the server stops', async t => {
  const { clock, server, client, held } = await aged(t, { options: { drainTimeoutMs: 2 * AGE_MS } });
  client.send(grpcCall(1, '/s/Hold'));
  await held.arrived(1);
  const stopped = server.stop();
  await client.goAway();
  for (let passedMs = 0; passedMs <= AGE_MS; passedMs += 10_000) {
    await client.settled();
    clock.advance(10_000);
  }
  held.replies[0].send(Buffer.from('done'));
  t.equal((await client.answer(1)).content.toString('utf8', 5), 'done');
  client.socket.end();
  await stopped;
});

t.test('a connection whose peer ignores GOAWAY goes once nothing runs on it', async t => {
  const { clock, client } = await aged(t, { limits: { connection: { keepaliveTimeoutMs: 7_000 } } });
  client.answersPings = false;
  clock.advance(AGE_MS);
  await client.goAway();
  t.equal(await client.call(1, '/s/Echo'), '0', 'what may have crossed GOAWAY is served');
  clock.advance(8_000);
  await client.ended;
});

t.test('a connection that closes early leaves no timer of its age', async t => {
  const { clock, server, client } = await aged(t);
  client.socket.destroy();
  await connectionsDownTo(server, 0);
  clock.advance(2 * AGE_MS);
  t.strictSame(clock.pendingDelaysMs, [1_000], 'but the tick of the server');
});
