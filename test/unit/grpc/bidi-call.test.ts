import { gzipSync } from 'node:zlib';
import t from 'tap';
import { HpackDecoder } from '../../../src/http2/hpack/decoder.ts';
import { DEED } from '../../support/conversations.ts';
import { InMemory } from '../../support/in-memory.ts';
import {
  CLIENT_PREFACE,
  data,
  ERRORS,
  FLAGS,
  FrameReader,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  ping,
  rstStream,
  settings,
  settingsAck,
  TYPE,
  windowUpdate,
} from '../../support/wire-frames.ts';

const COMPRESSED = 1;
const MESSAGE_END = data(1, Buffer.alloc(0), FLAGS.endStream);

function beginning(fields: Readonly<Record<string, string>> = {}, path = '/s/Talk'): Buffer {
  return headers(1, fieldBlock(grpcFields(path, fields)));
}

function said(...texts: readonly string[]): Buffer {
  return data(1, Buffer.concat(texts.map(text => grpcMessage(text))));
}

/** A connection past its preface, with a call on stream 1. */
function talking(fields: Readonly<Record<string, string>> = {}, path = '/s/Talk'): InMemory {
  const connection = new InMemory();
  connection.receive(Buffer.concat([CLIENT_PREFACE, settings(), settingsAck, beginning(fields, path)]));
  return connection;
}

/** The answer on stream 1 so far: its messages, and its status with its message once it has ended. */
function answerOf({ output }: InMemory): string[] {
  const decoder = new HpackDecoder({ maxListBytes: 100_000, maxFields: 100 });
  const answer: string[] = [];
  for (const { type, flags, payload } of new FrameReader()
    .read(output)
    .filter(({ stream }) => stream === 1)) {
    if (type === TYPE.data) answer.push(payload.toString('utf8', 5));
    if (type !== TYPE.headers) continue;
    const { names, values } = decoder.decode(payload, 0, payload.length);
    const field = (name: string): string => values[names.indexOf(name)] ?? '';
    if ((flags & FLAGS.endStream) !== 0)
      answer.push(`${field('grpc-status')} ${field('grpc-message')}`.trim());
  }
  return answer;
}

t.test('the method begins with the call, hears every message, and answers after the last', async t => {
  const connection = talking();
  const { heard } = connection.conversations;
  t.strictSame(heard, ['begun']);
  connection.receive(said('a', '', 'b'));
  t.strictSame(answerOf(connection), ['a', '', 'b']);
  const split = grpcMessage('in parts');
  connection.receive(Buffer.concat([data(1, split.subarray(0, 3)), data(1, split.subarray(3, 9))]));
  connection.receive(data(1, Buffer.concat([split.subarray(9), grpcMessage('c')]), FLAGS.endStream));
  t.strictSame(heard, ['begun', 'a', '', 'b', 'in parts', 'c', 'ended', 'closed']);
  t.strictSame(answerOf(connection), ['a', '', 'b', 'in parts', 'c', 'bye', '0']);
  t.equal(connection.grpc.connection.streamCount, 0);
});

for (const [name, ending] of [
  ['an empty frame', MESSAGE_END],
  ['trailers', headers(1, fieldBlock([['x-sum', '1']]), FLAGS.endHeaders | FLAGS.endStream)],
] as const) {
  t.test(`${name} can end the requests`, async t => {
    const connection = talking();
    connection.receive(Buffer.concat([said('a'), ending]));
    t.strictSame(connection.conversations.heard, ['begun', 'a', 'ended', 'closed']);
    t.strictSame(answerOf(connection), ['a', 'bye', '0']);
  });
}

t.test('a call without any message is one', async t => {
  const connection = new InMemory();
  const whole = headers(1, fieldBlock(grpcFields('/s/Talk')), FLAGS.endHeaders | FLAGS.endStream);
  connection.receive(Buffer.concat([CLIENT_PREFACE, settings(), settingsAck, whole]));
  t.strictSame(connection.conversations.heard, ['begun', 'ended', 'closed']);
  t.strictSame(answerOf(connection), ['bye', '0']);
});

t.test('a call of days is no unfinished request', async t => {
  const connection = talking();
  connection.receive(said('a'));
  t.equal(connection.held.held, 0);
  connection.pass(60_000);
  connection.pass(60_000);
  connection.receive(said('b'));
  t.strictSame(answerOf(connection), ['a', 'b']);
});

t.test('a message has a minute to become complete, from its own first byte', async t => {
  const connection = talking();
  const begun = grpcMessage('x'.repeat(2_000));
  connection.pass(50_000);
  connection.receive(data(1, begun.subarray(0, 1_000)));
  connection.pass(50_000);
  connection.receive(data(1, Buffer.concat([begun.subarray(1_000), begun.subarray(0, 1_500)])));
  connection.pass(50_000);
  t.equal(answerOf(connection).length, 1, 'the first one was complete in time, and the second one has time');
  t.ok(connection.held.held >= 1_495, 'what has come of it is held');
  connection.pass(11_000);
  t.strictSame(answerOf(connection).slice(1), ['4 the request was not complete within 60000 ms']);
  t.equal(connection.held.held, 0);
  t.strictSame(connection.conversations.heard.slice(2), ['closed']);
});

const FAULTS: Record<string, readonly [content: Buffer, status: string]> = {
  'a bad flag': [grpcMessage('b', 2), '13 the compressed flag of the message is neither 0 nor 1'],
  'a compressed message without an encoding': [
    grpcMessage(gzipSync('b'), COMPRESSED),
    '13 the message is compressed, but the call has no grpc-encoding',
  ],
  'a message over the limit': [
    Buffer.from([0, 0, 64, 0, 1]),
    '8 the request message exceeds the size limit of the server',
  ],
};

for (const [name, [content, status]] of Object.entries(FAULTS)) {
  t.test(`${name} ends the call, behind the answers before it`, async t => {
    const connection = talking();
    connection.receive(data(1, Buffer.concat([grpcMessage('a'), content, grpcMessage('c')])));
    t.strictSame(answerOf(connection), ['a', status]);
    t.strictSame(connection.conversations.heard, ['begun', 'a', 'closed']);
    t.equal(connection.grpc.connection.streamCount, 0);
    t.equal(connection.held.held, 0);
  });
}

t.test(
  'an end in the midst of a message is INTERNAL, and the method is not told that the requests ended',
  async t => {
    const connection = talking();
    connection.receive(data(1, grpcMessage('abc').subarray(0, 6), FLAGS.endStream));
    t.strictSame(answerOf(connection), ['13 the request ended before its message was complete']);
    t.strictSame(connection.conversations.heard, ['begun', 'closed']);
    t.equal(connection.held.held, 0);
  },
);

t.test('messages of a call with gzip may be compressed', async t => {
  const connection = talking({ 'grpc-encoding': 'gzip' });
  const content = Buffer.concat([grpcMessage(gzipSync('a'), COMPRESSED), grpcMessage('b')]);
  connection.receive(data(1, content));
  t.strictSame(answerOf(connection), ['a', 'b']);
});

t.test('a receiver that throws ends its call with INTERNAL, and nothing else', async t => {
  const connection = talking();
  connection.receive(said('a', DEED.throw, 'c'));
  t.strictSame(answerOf(connection), ['a', '13 internal error; see the log of the server']);
  t.strictSame(connection.conversations.heard, ['begun', 'a', DEED.throw, 'closed']);
  t.match(connection.logger.at('error'), [{ fields: { method: '/s/Talk', error: /the secret cause/ } }]);
  connection.receive(
    Buffer.concat([headers(3, fieldBlock(grpcFields('/s/Talk'))), data(3, grpcMessage('on'))]),
  );
  t.strictSame(connection.conversations.heard.slice(-2), ['begun', 'on']);
});

t.test('a method that throws ends its call with INTERNAL', async t => {
  const connection = talking({}, '/s/Broken');
  t.strictSame(answerOf(connection), ['13 internal error; see the log of the server']);
  t.match(connection.logger.at('error'), [{ fields: { method: '/s/Broken' } }]);
});

t.test('a method that ends the stream hears no more, and the caller is told not to send', async t => {
  const connection = talking();
  connection.receive(said(DEED.end, 'more'));
  connection.receive(said('more'));
  t.strictSame(connection.conversations.heard, ['begun', DEED.end, 'closed']);
  t.strictSame(answerOf(connection), ['5 as you wish']);
  const resets = new FrameReader().read(connection.output).filter(({ type }) => type === TYPE.rstStream);
  t.equal(resets[0].payload.readUInt32BE(0), ERRORS.noError);
});

t.test('the deadline of a call ends it', async t => {
  const connection = talking({ 'grpc-timeout': '5S' });
  connection.pass(4_000);
  connection.receive(said('a'));
  connection.pass(1_000);
  t.strictSame(answerOf(connection), ['a', '4 the deadline of the call has passed']);
  t.strictSame(connection.conversations.heard, ['begun', 'a', 'closed']);
  t.equal(connection.deadlines.size, 0);
});

for (const [name, leave] of [
  ['resets its call', (connection: InMemory) => connection.receive(rstStream(1))],
  ['is gone', (connection: InMemory) => connection.end()],
] as const) {
  t.test(`a method hears once that its caller ${name}, and an incomplete message is let go`, async t => {
    const connection = talking({ 'grpc-timeout': '5S' });
    connection.receive(data(1, grpcMessage('abc').subarray(0, 7)));
    leave(connection);
    t.strictSame(connection.conversations.heard, ['begun', 'closed']);
    connection.conversations.streams[0].send(Buffer.from('late'));
    t.strictSame(answerOf(connection), []);
    t.strictSame([connection.held.held, connection.deadlines.size], [0, 0]);
    connection.pass(61_000);
    t.strictSame(connection.logger.lines, []);
  });
}

t.test('bidirectional calls can be ended alone, and none is opened after that', async t => {
  const connection = talking();
  connection.receive(
    Buffer.concat([headers(3, fieldBlock(grpcFields('/s/Watch'))), data(3, grpcMessage('on'), 1)]),
  );
  connection.grpc.endBidiStreams(14, 'elsewhere');
  t.equal(connection.grpc.connection.streamCount, 1, 'a server-streaming call goes on');
  connection.receive(headers(5, fieldBlock(grpcFields('/s/Talk'))));
  t.strictSame(connection.conversations.heard, ['begun', 'closed'], 'the method is not called');
  t.strictSame(answerOf(connection), ['14 elsewhere']);
  connection.grpc.endStreams(14, 'gone');
  t.equal(connection.grpc.connection.streamCount, 0);
});

t.test('all streams of answers are ended together, of both kinds', async t => {
  const connection = talking();
  connection.grpc.endStreams(14, 'gone');
  connection.receive(Buffer.alloc(0));
  t.strictSame(answerOf(connection), ['14 gone']);
});

t.test('one call carries 100 MB of messages: its windows are widened for as long as it lives', async t => {
  const connection = talking({}, '/s/Swallow');
  const frame = data(1, Buffer.concat(Array.from({ length: 16 }, () => grpcMessage('x'.repeat(1_000)))));
  const read = Buffer.concat(Array.from({ length: 4 }, () => frame));
  let sent = 0;
  for (; sent < 100_000_000; sent += read.length) connection.receive(read);
  t.equal(connection.grpc.connection.closed, false);
  t.strictSame(connection.swallowed, {
    messages: (64 * sent) / read.length,
    bytes: (64_000 * sent) / read.length,
  });
  const granted = { 0: 65_535, 1: 65_535 };
  for (const { type, stream, payload } of new FrameReader().read(connection.output))
    if (type === TYPE.windowUpdate) granted[stream as 0 | 1] += payload.readUInt32BE(0);
  const content = (sent / read.length) * 4 * (frame.length - 9);
  t.ok(granted[1] - content > 32_000, 'more than half of the window of the stream is open');
  t.ok(granted[0] - content > 2_000_000, 'and of that of the connection');
});

t.test('the window of a stream grows as soon as a message is known to be long', async t => {
  const connection = talking({}, '/s/Swallow');
  const message = grpcMessage(Buffer.alloc(1_000_000));
  connection.receive(data(1, Buffer.concat([grpcMessage('a'), message.subarray(0, 10_000)])));
  const [update] = new FrameReader()
    .read(connection.output)
    .filter(({ type, stream }) => type === TYPE.windowUpdate && stream === 1);
  const available = 65_535 - 6 - 10_000 + update.payload.readUInt32BE(0);
  t.equal(available, message.length - 10_000, 'all of the message, and no more');
});

t.test('short messages may have frames of their own, with pings and window updates between them', async t => {
  const connection = talking({}, '/s/Swallow');
  const read = Buffer.concat([said('report'), ping(), windowUpdate(0, 1)]);
  for (let i = 0; i < 20_000; i++) connection.receive(read);
  t.equal(connection.grpc.connection.closed, false);
  t.equal(connection.swallowed.messages, 20_000);
});

t.test('answers that the caller does not read end the call', async t => {
  const connection = talking();
  const read = said(...Array.from({ length: 16 }, () => 'x'.repeat(1_000)));
  for (let i = 0; i < 20; i++) connection.receive(read);
  t.ok(connection.grpc.queuedBytes < 100_000, `${connection.grpc.queuedBytes} bytes wait`);
  t.equal(connection.conversations.heard.at(-1), 'closed');
});

t.test('frames that complete no message are as few as those of a single one', async t => {
  const connection = talking();
  const crumb = data(1, Buffer.alloc(1));
  connection.receive(data(1, grpcMessage(Buffer.alloc(100_000)).subarray(0, 5)));
  for (let i = 0; i < 3_000; i++) connection.receive(crumb);
  t.equal(connection.grpc.connection.fault?.code, ERRORS.enhanceYourCalm);
});

t.test('each message counts as work', async t => {
  const connection = talking();
  const { connection: http2 } = connection.grpc;
  connection.receive(data(1, Buffer.concat(Array.from({ length: 1_000 }, () => grpcMessage()))));
  t.ok(http2.work > 1_000 * 64, `${http2.work} for 1,000 empty messages`);
});
