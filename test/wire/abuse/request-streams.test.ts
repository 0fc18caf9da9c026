import t from 'tap';
import type { BidiMethod } from '../../../src/grpc/service.ts';
import { IMMEDIATE_WORK, LEAST_SHARE, TURN_WORK } from '../../../src/transports/grpc/connection-turns.ts';
import { Conversations } from '../../support/conversations.ts';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  data,
  ERRORS,
  FLAGS,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  PARAMETER,
  rstStream,
} from '../../support/wire-frames.ts';
import { attacked, isOver, takesNoMemory } from './attack.ts';

const BEGINNING = fieldBlock(grpcFields('/s/Talk'));

/** Frames of many streams, in one piece. */
function streams(count: number, framesOf: (id: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => framesOf(2 * i + 1)));
}

/** A call whose message lacks its last octet. */
function unfinished(id: number, bytes: number): Buffer {
  return Buffer.concat([headers(id, BEGINNING), data(id, grpcMessage(Buffer.alloc(bytes)).subarray(0, -1))]);
}

/** A method that counts messages and answers none. */
function counting() {
  const counted = { messages: 0 };
  const method: BidiMethod = stream => ({
    message: () => {
      counted.messages++;
    },
    end: () => stream.end(0, ''),
  });
  return { counted, method };
}

t.test(
  'open streams of requests hold no memory of requests, and messages that are incomplete are bounded',
  async t => {
    const { method } = counting();
    const maxHeldBytes = 100_000;
    const { client, ...serving } = await attacked(t, {
      limits: { calls: { maxHeldBytes } },
      bidi: { '/s/Talk': method },
    });
    client.send(streams(500, id => headers(id, BEGINNING)));
    await client.settled();
    t.strictSame([serving.server.streamCount, serving.server.heldBytes], [500, 0]);
    client.send(streams(200, id => data(id, grpcMessage(Buffer.alloc(5_000)).subarray(0, -1))));
    await client.settled();
    const { heldBytes } = serving.server;
    t.ok(heldBytes > maxHeldBytes / 2 && heldBytes <= maxHeldBytes, `${heldBytes} bytes`);
    t.equal(
      (await client.answer(399)).fields['grpc-status'],
      '8',
      'a message beyond the bound ends its call',
    );
    client.send(data(1, Buffer.alloc(1), FLAGS.endStream));
    t.equal((await client.answer(1)).fields['grpc-status'], '0', 'those that were admitted may end');
    await isOver(t, serving, client);
  },
);

t.test('messages that stay incomplete end their calls in time', async t => {
  const conversations = new Conversations();
  const { client, ...serving } = await attacked(t, {
    limits: { calls: { requestMs: 20_000 } },
    bidi: { '/s/Talk': conversations.method },
  });
  client.send(streams(50, id => unfinished(id, 1_000)));
  await client.settled();
  serving.clock.advance(15_000);
  await client.settled();
  t.equal(serving.server.streamCount, 50);
  serving.clock.advance(6_000);
  for (const id of [1, 99]) t.equal((await client.answer(id)).fields['grpc-status'], '4');
  t.strictSame([serving.server.streamCount, serving.server.heldBytes], [0, 0]);
  await isOver(t, serving, client);
});

t.test('floods of messages take turns, and an honest call is answered within a round', async t => {
  const { counted, method } = counting();
  const { server } = await serveOwn(t, { bidi: { '/s/Talk': method } });
  const flooders = await Promise.all(Array.from({ length: 20 }, () => WireClient.open(t, server.address)));
  const honest = await WireClient.open(t, server.address);
  t.equal(await honest.call(1, '/s/Echo', 'on'), '0');
  // Messages without content: the least bytes for the most work.
  const perFrame = 100;
  const frame = data(1, Buffer.concat(Array.from({ length: perFrame }, () => grpcMessage())));
  const frames = 500;
  const flood = Buffer.concat([headers(1, BEGINNING), ...Array.from({ length: frames }, () => frame)]);
  const workOfMessage = 64 + frame.length / perFrame;
  for (const client of flooders) client.send(flood);
  for (let call = 1; call <= 5; call++) {
    const before = counted.messages;
    t.equal(await honest.call(2 * call + 1, '/s/Echo', 'on'), '0');
    const work = (counted.messages - before) * workOfMessage;
    const most = (call === 1 ? flooders.length * LEAST_SHARE : 0) + 2 * (IMMEDIATE_WORK + 2 * TURN_WORK);
    t.ok(work <= most, `work of ${work} came before call ${call}`);
  }
  t.ok(counted.messages < flooders.length * frames * perFrame, 'while others wait');
  for (const client of flooders) {
    client.send(data(1, Buffer.alloc(0), FLAGS.endStream));
    t.equal((await client.answer(1)).fields['grpc-status'], '0');
  }
  t.equal(counted.messages, flooders.length * frames * perFrame, 'everything is heard in the end');
});

t.test('answers that are not read are bounded, and end the call', async t => {
  const conversations = new Conversations();
  const { client, ...serving } = await attacked(t, { bidi: { '/s/Talk': conversations.method } }, [
    PARAMETER.initialWindowSize,
    0,
  ]);
  const messages = data(1, Buffer.concat(Array.from({ length: 16 }, () => grpcMessage('x'.repeat(1_000)))));
  client.send(headers(1, BEGINNING));
  for (let i = 0; i < 100; i++) client.send(messages);
  await client.settled();
  t.ok(serving.server.queuedBytes < 100_000, `${serving.server.queuedBytes} bytes wait`);
  t.equal(conversations.heard.at(-1), 'closed');
  t.ok(conversations.heard.length < 100, 'and no further messages are heard');
  await isOver(t, serving, client);
});

t.test(
  'rapid resets of streams of requests end the connection with ENHANCE_YOUR_CALM, whatever they said',
  async t => {
    const { method } = counting();
    const resets = { burst: 100, perSecond: 10, perRequest: 0.5 };
    const { client, ...serving } = await attacked(t, {
      limits: { connection: { resets } },
      bidi: { '/s/Talk': method },
    });
    const messages = Buffer.concat([grpcMessage(), grpcMessage(), grpcMessage()]);
    client.send(
      streams(300, id => Buffer.concat([headers(id, BEGINNING), data(id, messages), rstStream(id)])),
    );
    t.equal(await client.goAway(), ERRORS.enhanceYourCalm);
    await client.ended;
    await isOver(t, serving, client);
  },
);

t.test('streams of requests leave the memory as it was', async t => {
  const { method } = counting();
  const { server } = await serveOwn(t, { bidi: { '/s/Talk': method } });
  const frames = streams(900, id => unfinished(id, 1_000));
  const attack = async (): Promise<void> => {
    const client = await WireClient.open(t, server.address);
    client.send(frames);
    await client.settled();
    client.socket.destroy();
    await connectionsDownTo(server, 0);
  };
  await takesNoMemory(t, attack, 10);
});
