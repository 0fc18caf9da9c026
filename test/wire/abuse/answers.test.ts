import t, { type Test } from 'tap';
import type { StreamMethod, UnaryMethod } from '../../../src/grpc/service.ts';
import { connectionsDownTo, type OwnServing, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  ERRORS,
  frame,
  grpcCall,
  PARAMETER,
  settings,
  TYPE,
  windowUpdate,
} from '../../support/wire-frames.ts';
import { attacked, isServed } from './attack.ts';

const NO_WINDOW = [PARAMETER.initialWindowSize, 0] as const;
const ANSWER_BYTES = 1_000;

const answer: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(ANSWER_BYTES - 5));

function calls(count: number, path: string, from = 0): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => grpcCall(2 * (from + i) + 1, path)));
}

/** Lets the server's time pass and its sockets work, until this holds. */
async function passTime({ clock }: OwnServing, ms: number, holds: () => boolean): Promise<void> {
  for (let passed = 0; !holds(); passed += 1_000) {
    if (passed > ms) throw new Error(`it does not hold after ${ms} ms`);
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
    clock.advance(1_000);
  }
}

t.test('answers that wait for a window are given up after a time, and the streams with them', async t => {
  const { client, ...serving } = await attacked(
    t,
    {
      unary: { '/s/Answer': answer },
      limits: { connection: { stallMs: 30_000 } },
    },
    NO_WINDOW,
  );
  const { server, clock } = serving;
  client.send(calls(50, '/s/Answer'));
  await client.settled();
  t.equal(server.queuedBytes, 50 * ANSWER_BYTES);
  t.equal(server.streamCount, 50);
  clock.advance(20_000);
  client.send(calls(50, '/s/Answer', 50));
  await client.settled();
  clock.advance(11_000);
  for (let call = 0; call < 50; call++) t.equal((await client.answer(2 * call + 1)).reset, ERRORS.cancel);
  t.equal(server.streamCount, 50, 'those that came later have time left');
  clock.advance(20_000);
  await client.answer(199);
  t.strictSame([server.streamCount, server.queuedBytes], [0, 0]);
  await isServed(t, serving);
});

t.test('a window that is opened in time lets the answers go', async t => {
  const { client, ...serving } = await attacked(
    t,
    {
      unary: { '/s/Answer': answer },
      limits: { connection: { stallMs: 30_000 } },
    },
    NO_WINDOW,
  );
  const { server, clock } = serving;
  client.send(calls(10, '/s/Answer'));
  await client.settled();
  for (let round = 0; round < 4; round++) {
    clock.advance(20_000);
    client.send(windowUpdate(1, ANSWER_BYTES / 4));
    for (let id = 3; id < 20; id += 2) client.send(windowUpdate(id, 1));
    await client.settled();
  }
  t.equal((await client.answer(1)).content.length, ANSWER_BYTES);
  t.equal(server.streamCount, 9, 'any progress keeps an answer');
  client.send(settings([PARAMETER.initialWindowSize, ANSWER_BYTES]));
  for (let id = 3; id < 20; id += 2) {
    const { fields, content } = await client.answer(id);
    t.strictSame([fields['grpc-status'], content.length], ['0', ANSWER_BYTES]);
  }
  t.equal(server.queuedBytes, 0);
});

t.test('a connection whose answers wait beyond its bound gets no more of them', async t => {
  const maxQueuedBytes = 10 * ANSWER_BYTES;
  const { client, ...serving } = await attacked(
    t,
    {
      unary: { '/s/Answer': answer },
      limits: { calls: { maxQueuedBytes } },
    },
    NO_WINDOW,
  );
  client.send(calls(100, '/s/Answer'));
  t.equal((await client.answer(199)).fields['grpc-status'], '8');
  t.ok(serving.server.queuedBytes <= maxQueuedBytes + ANSWER_BYTES, `${serving.server.queuedBytes} bytes`);
  t.ok(serving.server.streamCount <= 11);
  await isServed(t, serving);
});

t.test('an answer that takes the connection far beyond its bound ends the connection', async t => {
  const huge: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(100_000));
  const limits = { connection: { maxQueuedBytes: 50_000 } };
  const { client, ...serving } = await attacked(t, { unary: { '/s/Huge': huge }, limits }, NO_WINDOW);
  client.send(grpcCall(1, '/s/Huge'));
  t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
  await client.ended;
  t.strictSame([serving.server.streamCount, serving.server.queuedBytes], [0, 0]);
  await isServed(t, serving);
});

t.test('of all connections those are cut that leave the most unread', async t => {
  // Each answer counts with what it takes beside its bytes, and connections are cut before the bound is reached.
  const limits = { maxQueuedBytes: 150 * (ANSWER_BYTES + 1_024) };
  const serving = await serveOwn(t, { unary: { '/s/Answer': answer }, limits });
  const { server, clock, log } = serving;
  await isServed(t, serving);
  const clients: WireClient[] = [];
  for (const count of [60, 10, 50, 30]) {
    const client = await WireClient.open(t, server.address, NO_WINDOW);
    clients.push(client);
    client.send(calls(count, '/s/Answer'));
    await client.settled();
  }
  await clients[0].ended;
  clock.advance(1_000);
  await connectionsDownTo(server, 4);
  t.equal(server.queuedBytes, 90 * ANSWER_BYTES);
  for (const client of clients.slice(1)) await client.settled();
  const cut = log.filter(({ level }) => level === 'warning');
  t.match(cut, [
    {
      '@message': 'Closed gRPC connections to free memory',
      reason: /unread answers/,
      connections: 1,
      bytes: 60 * (ANSWER_BYTES + 1_024),
    },
  ]);
  await isServed(t, serving);
});

t.test('a stream of answers whose caller does not read ends', async t => {
  let closed = false;
  let sent = 0;
  const flood: StreamMethod = (_request, stream) => {
    stream.onClose(() => {
      closed = true;
    });
    for (; !closed && sent < 1_000; sent++) stream.send(Buffer.alloc(ANSWER_BYTES));
  };
  const limits = { calls: { maxStreamQueuedBytes: 20 * ANSWER_BYTES } };
  const { client, ...serving } = await attacked(t, { streaming: { '/s/Flood': flood }, limits }, NO_WINDOW);
  client.send(grpcCall(1, '/s/Flood'));
  await client.settled();
  t.ok(closed);
  t.ok(sent >= 20 && sent <= 22, `after ${sent} messages`);
  client.send(windowUpdate(1, 1_000_000));
  t.match((await client.answer(1)).fields, { 'grpc-status': '8' }, 'who reads at last is told');
  await isServed(t, serving);
});

/** Large windows, but nothing is read from the socket any more. */
async function openDeaf(t: Test, { server }: OwnServing): Promise<WireClient> {
  const client = await WireClient.open(t, server.address, [PARAMETER.initialWindowSize, 2 ** 31 - 1]);
  client.send(windowUpdate(0, 2 ** 31 - 1 - 65_535));
  await client.settled();
  client.socket.pause();
  return client;
}

const LARGE_BYTES = 262_144;

/** Asks for large answers until the system takes no more of them; returns how many calls that took. */
async function fillSystem({ server }: OwnServing, client: WireClient): Promise<number> {
  let asked = 0;
  for (; server.queuedBytes === 0; asked += 2) {
    client.send(calls(2, '/s/Large', asked));
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
  }
  return asked;
}

/** Counts the calls that it answers at length. */
function largeAnswers(bytes = LARGE_BYTES): { method: UnaryMethod; count: () => number } {
  let count = 0;
  const method: UnaryMethod = (_request, reply) => {
    count++;
    reply.send(Buffer.alloc(bytes));
  };
  return { method, count: () => count };
}

t.test('a peer that does not read its socket is bounded, and then cut', async t => {
  const maxQueuedBytes = 1_048_576;
  const serving = await serveOwn(t, {
    unary: { '/s/Large': largeAnswers().method },
    limits: { calls: { maxQueuedBytes }, connection: { stallMs: 30_000 } },
  });
  const { server } = serving;
  await isServed(t, serving);
  const client = await openDeaf(t, serving);
  const asked = await fillSystem(serving, client);
  client.send(calls(500, '/s/Large', asked));
  for (let turn = 0; turn < 20; turn++) await isServed(t, serving);
  const queued = server.queuedBytes;
  t.ok(queued > 0 && queued <= maxQueuedBytes + LARGE_BYTES, `${queued} bytes are queued`);
  await passTime(serving, 40_000, () => server.connectionCount === 1);
  t.strictSame([server.streamCount, server.queuedBytes], [0, 0]);
  await isServed(t, serving);
});

t.test('nothing more is taken from a peer that does not read', async t => {
  const { method, count } = largeAnswers();
  const serving = await serveOwn(t, { unary: { '/s/Large': method } });
  const client = await openDeaf(t, serving);
  const asked = await fillSystem(serving, client);
  const before = count();
  client.send(calls(20, '/s/Large', asked));
  for (let turn = 0; turn < 20; turn++) await isServed(t, serving);
  t.equal(count(), before, 'its calls wait in the system');
  client.socket.resume();
  for (let call = 0; call < asked + 20; call++)
    t.equal((await client.answer(2 * call + 1)).content.length, LARGE_BYTES + 5);
});

t.test('a peer that does not read its GOAWAY is cut', async t => {
  // Less than makes the server stop reading.
  const { method } = largeAnswers(65_536);
  const serving = await serveOwn(t, { unary: { '/s/Large': method } });
  const { server, log } = serving;
  await isServed(t, serving);
  const client = await openDeaf(t, serving);
  await fillSystem(serving, client);
  client.send(frame(TYPE.pushPromise, 0, 1));
  await passTime(serving, 5_000, () => server.connectionCount === 1);
  t.match(log, [{ '@message': 'gRPC connection closed', reason: /PUSH_PROMISE/ }]);
  await isServed(t, serving);
});

t.test('a server that stops does not wait for a peer that does not read', async t => {
  const serving = await serveOwn(t, {
    unary: { '/s/Large': largeAnswers().method },
    options: { drainTimeoutMs: 5_000 },
  });
  const { server, honest } = serving;
  await isServed(t, serving);
  const client = await openDeaf(t, serving);
  await fillSystem(serving, client);
  const stopped = server.stop();
  honest.close();
  await passTime(serving, 6_000, () => server.connectionCount === 0);
  await stopped;
});
