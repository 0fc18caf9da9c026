import { gzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { type BidiMethod, GRPC_STATUS } from '../../src/grpc/service.ts';
import { DEFAULT_MAX_MESSAGE_BYTES } from '../../src/transports/grpc/server.ts';
import { Conversations, DEED } from '../support/conversations.ts';
import type { Talk } from '../support/grpc-client.ts';
import { WireClient } from '../support/wire-client.ts';
import {
  data,
  FLAGS,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  rstStream,
} from '../support/wire-frames.ts';
import { type Examinee, echo, type Running } from './grpc-examinee.ts';

const PATH = '/s/Talk';
const COMPRESSED = 1;

/** An age of connections that leaves a client the time to connect and call, on a busy machine as well. */
const CALL_ARRIVES_MS = 1_000;

interface Talking extends Running {
  readonly conversations: Conversations;
}

async function talking(t: Test, examinee: Examinee): Promise<Talking> {
  const conversations = new Conversations();
  const running = await examinee.start(t, {
    bidi: { [PATH]: conversations.method },
    unary: { '/s/Echo': echo },
  });
  return { ...running, conversations };
}

/** The head of a call on stream 1. */
function beginning(fields: Readonly<Record<string, string>> = {}): Buffer {
  return headers(1, fieldBlock(grpcFields(PATH, fields)));
}

/** The status of a stream, and that nothing else is wrong with its server. */
async function endsWith(t: Test, { client }: Running, talk: Talk, status: object): Promise<void> {
  t.match(await talk.status, status);
  t.equal((await client.unary('/s/Echo', 'on')).status, 0, 'others are served');
}

/** Calls with a stream of requests and a stream of responses. */
export function examineBidi(t: Test, examinee: Examinee): void {
  t.test('a call is answered message by message, and once more after its last message', async t => {
    const { client, conversations } = await talking(t, examinee);
    const talk = client.talk(PATH);
    t.equal(await talk.ask('a'), 'a');
    t.equal(await talk.ask(''), '');
    talk.send('b', 'c');
    t.equal((await talk.next()).toString(), 'b');
    t.equal((await talk.next()).toString(), 'c');
    talk.end();
    t.equal((await talk.next()).toString(), 'bye');
    t.match(await talk.status, { code: GRPC_STATUS.ok });
    t.strictSame(conversations.heard, ['begun', 'a', '', 'b', 'c', 'ended', 'closed']);
  });

  t.test('a method can speak first', async t => {
    const { client, conversations } = await talking(t, examinee);
    const talk = client.talk(PATH);
    await conversations.arrived(1);
    conversations.streams[0].send(Buffer.from('hello'));
    t.equal((await talk.next()).toString(), 'hello');
  });

  t.test('a call without any message ends well', async t => {
    const { client, conversations } = await talking(t, examinee);
    const talk = client.talk(PATH);
    talk.end();
    t.equal((await talk.next()).toString(), 'bye');
    t.match(await talk.status, { code: GRPC_STATUS.ok });
    t.strictSame(conversations.heard, ['begun', 'ended', 'closed']);
  });

  t.test('a method knows the address of its peer while the call lasts', async t => {
    const { client, server, conversations } = await talking(t, examinee);
    await client.talk(PATH).ask('a');
    const expected = 'path' in server.address ? '' : '127.0.0.1';
    t.equal(conversations.streams[0].peer.replace(/:\d+$/, ''), expected);
  });

  t.test('a message of many frames comes whole, and those behind it as well', async t => {
    const { client } = await talking(t, examinee);
    const talk = client.talk(PATH);
    const long = 'x'.repeat(50_000);
    talk.send('a', long, 'b');
    for (const expected of ['a', long, 'b']) t.equal((await talk.next()).toString(), expected);
  });

  t.test('a call carries more than the windows of the stream and of the connection together', async t => {
    const count: BidiMethod = stream => {
      let bytes = 0;
      return {
        message: request => {
          bytes += request.length;
        },
        end: () => {
          stream.send(Buffer.from(String(bytes)));
          stream.end(GRPC_STATUS.ok, '');
        },
      };
    };
    const { client } = await examinee.start(t, { bidi: { '/s/Count': count } });
    const talk = client.talk('/s/Count');
    talk.send(...Array.from({ length: 1_000 }, () => Buffer.alloc(10_000)));
    talk.end();
    t.equal((await talk.next()).toString(), '10000000');
    t.match(await talk.status, { code: GRPC_STATUS.ok });
  });

  t.test('frames cut messages anywhere, and one frame can have several', async t => {
    const { server } = await talking(t, examinee);
    const client = await WireClient.open(t, server.address);
    const content = Buffer.concat(['a', '', 'bc'].map(text => grpcMessage(text)));
    client.send(beginning(), ...Array.from(content, octet => data(1, Buffer.from([octet]))));
    client.send(data(1, content), data(1, Buffer.alloc(0), FLAGS.endStream));
    const answer = await client.answer(1);
    t.equal(answer.fields['grpc-status'], '0');
    t.strictSame(answer.content, Buffer.concat([content, content, grpcMessage('bye')]));
  });

  t.test('messages of a call that names gzip may be compressed', async t => {
    const { server } = await talking(t, examinee);
    const client = await WireClient.open(t, server.address);
    const content = Buffer.concat([grpcMessage(gzipSync('a'), COMPRESSED), grpcMessage('b')]);
    client.send(beginning({ 'grpc-encoding': 'gzip' }), data(1, content, FLAGS.endStream));
    const answer = await client.answer(1);
    t.strictSame(answer.content, Buffer.concat(['a', 'b', 'bye'].map(text => grpcMessage(text))));
  });

  const wrong: Record<string, readonly [content: Buffer, status: number]> = {
    'a message with a flag that is neither 0 nor 1': [grpcMessage('b', 2), GRPC_STATUS.internal],
    'a compressed message without an encoding': [
      grpcMessage(gzipSync('b'), COMPRESSED),
      GRPC_STATUS.internal,
    ],
    'half a message': [grpcMessage('b').subarray(0, -1), GRPC_STATUS.internal],
  };
  for (const [name, [content, status]] of Object.entries(wrong)) {
    examinee.test(t, `a stream of requests that ends with ${name} is refused`, async t => {
      const { server, conversations } = await talking(t, examinee);
      const client = await WireClient.open(t, server.address);
      client.send(beginning(), data(1, Buffer.concat([grpcMessage('a'), content]), FLAGS.endStream));
      t.equal((await client.answer(1)).fields['grpc-status'], String(status));
      t.strictSame(conversations.heard, ['begun', 'a', 'closed'], 'the method does not hear that it ended');
    });
  }

  t.test('a message over the size limit is RESOURCE_EXHAUSTED', async t => {
    const running = await talking(t, examinee);
    const talk = running.client.talk(PATH);
    t.equal(await talk.ask('a'), 'a');
    talk.send(Buffer.alloc(DEFAULT_MAX_MESSAGE_BYTES + 1));
    await endsWith(t, running, talk, { code: GRPC_STATUS.resourceExhausted });
    t.strictSame(running.conversations.heard, ['begun', 'a', 'closed']);
  });

  t.test('a receiver that throws is answered with INTERNAL, logged, and nothing else fails', async t => {
    const running = await talking(t, examinee);
    const talk = running.client.talk(PATH);
    talk.send('a', DEED.throw, 'c');
    await endsWith(t, running, talk, { code: GRPC_STATUS.internal, details: /internal error/ });
    t.strictSame(running.conversations.heard, ['begun', 'a', DEED.throw, 'closed']);
    t.match(running.log, [{ level: 'error', method: PATH, error: /the secret cause/ }]);
  });

  t.test('a method that throws is answered with INTERNAL and logged', async t => {
    const broken = (): never => {
      throw new Error('the secret cause');
    };
    const running = await examinee.start(t, { bidi: { [PATH]: broken }, unary: { '/s/Echo': echo } });
    await endsWith(t, running, running.client.talk(PATH), { code: GRPC_STATUS.internal });
    t.match(running.log, [{ level: 'error', method: PATH, error: /the secret cause/ }]);
  });

  t.test('a method that ends the stream hears no more', async t => {
    const running = await talking(t, examinee);
    const talk = running.client.talk(PATH);
    talk.send('a', DEED.end, 'b');
    await endsWith(t, running, talk, { code: GRPC_STATUS.notFound, details: 'as you wish' });
    t.strictSame(running.conversations.heard, ['begun', 'a', DEED.end, 'closed']);
  });

  examinee.test(t, 'a method hears once that the caller of a stream of requests has left', async t => {
    const { server, conversations } = await talking(t, examinee);
    const client = await WireClient.open(t, server.address);
    client.send(beginning(), data(1, grpcMessage('a')), rstStream(1));
    await conversations.arrived(3);
    t.equal(await client.call(3, '/s/Echo'), '0', 'the connection still serves');
    t.strictSame(conversations.heard, ['begun', 'a', 'closed']);
  });

  t.test('the deadline of a stream ends it', async t => {
    const { server, conversations } = await talking(t, examinee);
    const client = await WireClient.open(t, server.address);
    client.send(beginning({ 'grpc-timeout': '50m' }), data(1, grpcMessage('a')));
    t.equal((await client.answer(1)).fields['grpc-status'], String(GRPC_STATUS.deadlineExceeded));
    await conversations.arrived(3);
    t.strictSame(conversations.heard, ['begun', 'a', 'closed']);
  });

  t.test('stopping ends streams of requests with UNAVAILABLE', async t => {
    const { client, server, conversations } = await talking(t, examinee);
    const talk = client.talk(PATH);
    await talk.ask('a');
    const stopped = server.stop();
    t.match(await talk.status, { code: GRPC_STATUS.unavailable, details: /shutting down/ });
    await stopped;
    t.strictSame(conversations.heard, ['begun', 'a', 'closed']);
  });

  t.test('a connection of the maximum age ends its streams of requests with UNAVAILABLE', async t => {
    const conversations = new Conversations();
    const { client } = await examinee.start(
      t,
      { bidi: { [PATH]: conversations.method } },
      { maxConnectionAgeMs: CALL_ARRIVES_MS },
    );
    const talk = client.talk(PATH);
    t.equal(await talk.ask('a'), 'a');
    t.match(await talk.status, { code: GRPC_STATUS.unavailable, details: /reconnect/ });
    t.equal(await client.talk(PATH).ask('b'), 'b', 'the next one is on another connection');
  });
}
