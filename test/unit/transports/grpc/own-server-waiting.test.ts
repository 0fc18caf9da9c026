import t, { type Test } from 'tap';
import type { UnaryMethod } from '../../../../src/grpc/service.ts';
import { type OwnServed, serveOwn } from '../../../support/own-server.ts';
import { until } from '../../../support/until.ts';
import { WireClient } from '../../../support/wire-client.ts';
import {
  CLIENT_PREFACE,
  ERRORS,
  FLAGS,
  fieldBlock,
  grpcCall,
  grpcFields,
  headers,
  settings,
  settingsAck,
  TYPE,
} from '../../../support/wire-frames.ts';

const CALLS = 100;
/** The last stream that {@link flood} opens. */
const LAST_STREAM = 2 * CALLS + 1;

/** About 1 MB of calls, which are more than the server handles without turns. */
function flood(): Buffer {
  const message = 'x'.repeat(10_000);
  return Buffer.concat(Array.from({ length: CALLS }, (_, i) => grpcCall(3 + 2 * i, '/s/Take', message)));
}

/** Answers without content, so that the windows of the peer let everything through. */
const take: UnaryMethod = (_request, reply) => reply.send(Buffer.alloc(0));

/** A server whose connections have a turn only when the test says so. */
async function serveStepped(t: Test, served: OwnServed = {}) {
  const due: (() => void)[] = [];
  const unary = { '/s/Take': take };
  const serving = await serveOwn(t, { ...served, unary, nextTurn: run => due.push(run) });
  return {
    ...serving,
    /** Resolves when input of a connection waits for its turn. */
    inputWaits: async (): Promise<void> => {
      await until(() => serving.server.waitingCount !== 0);
    },
    turn: (): void => {
      for (const run of due.splice(0)) run();
    },
    /** Gives turns until the connection has no input left. */
    turns: async (isDone: () => boolean): Promise<void> => {
      while (!isDone()) {
        for (const run of due.splice(0)) run();
        await new Promise(resolve => setImmediate(resolve));
      }
    },
  };
}

t.test('a peer whose input always waits is still held to the time limits', async t => {
  await t.test('for the acknowledgement of SETTINGS', async t => {
    const { server, clock, inputWaits, turn } = await serveStepped(t);
    const client = await WireClient.connect(t, server.address);
    client.send(CLIENT_PREFACE, settings(), flood());
    await inputWaits();
    clock.advance(31_000);
    turn();
    await inputWaits();
    clock.advance(1_000);
    t.equal(await client.goAway(), ERRORS.settingsTimeout);
  });
  await t.test('for the end of a request', async t => {
    const { server, clock, inputWaits, turn } = await serveStepped(t);
    const client = await WireClient.connect(t, server.address);
    const begun = headers(1, fieldBlock(grpcFields('/s/Echo')), FLAGS.endHeaders);
    client.send(CLIENT_PREFACE, settings(), settingsAck, begun, flood());
    await inputWaits();
    clock.advance(61_000);
    turn();
    await inputWaits();
    clock.advance(1_000);
    const { fields } = await client.answer(1);
    t.match(fields, { 'grpc-status': '4', 'grpc-message': 'the request was not complete within 60000 ms' });
  });
});

t.test('a peer is not blamed for what may be in input that has had no turn', async t => {
  const { server, clock, inputWaits, turn, turns } = await serveStepped(t);
  const client = await WireClient.connect(t, server.address);
  client.send(CLIENT_PREFACE, settings(), flood(), settingsAck);
  await inputWaits();
  // The first tick still sees what was handled before the input had to wait.
  clock.advance(1_000);
  clock.advance(60_000);
  t.equal(server.connectionCount, 1);
  await turns(() => client.frames.some(({ stream, type }) => stream === LAST_STREAM && type === TYPE.data));
  turn();
  t.equal(await client.call(LAST_STREAM + 2, '/s/Echo'), '0');
});

t.test('a connection whose input always waits names its last stream when it drains', async t => {
  const { server, clock, inputWaits, turn } = await serveStepped(t, {
    options: { maxConnectionAgeMs: 10_000 },
  });
  const client = await WireClient.open(t, server.address);
  client.answersPings = false;
  const goAways = (): number => client.frames.filter(({ type }) => type === TYPE.goAway).length;
  client.send(flood());
  await inputWaits();
  clock.advance(10_000);
  await client.frame(({ type }) => type === TYPE.goAway);
  clock.advance(21_000);
  turn();
  await inputWaits();
  clock.advance(1_000);
  t.equal(server.waitingCount, 1);
  await client.frame(() => goAways() === 2);
});
