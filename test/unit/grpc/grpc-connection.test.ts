import t from 'tap';
import { goAway } from '../../support/http2-frames.ts';
import { InMemory } from '../../support/in-memory.ts';
import {
  CLIENT_PREFACE,
  data,
  FLAGS,
  type Frame,
  FrameReader,
  fieldBlock,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  settings,
  settingsAck,
  TYPE,
} from '../../support/wire-frames.ts';

const REQUEST = headers(1, fieldBlock(grpcFields('/s/Echo')));

/** A connection past its preface. */
function opened(): InMemory {
  const connection = new InMemory();
  connection.receive(Buffer.concat([CLIENT_PREFACE, settings(), settingsAck]));
  return connection;
}

/** The frames of stream 1. */
function framesOf({ output }: InMemory): Frame[] {
  return new FrameReader().read(output).filter(({ stream }) => stream === 1);
}

function increments(connection: InMemory): number[] {
  return framesOf(connection)
    .filter(({ type }) => type === TYPE.windowUpdate)
    .map(({ payload }) => payload.readUInt32BE(0));
}

t.test('the window of a stream grows as soon as its message is known to be long', async t => {
  const connection = opened();
  const message = grpcMessage(Buffer.alloc(1_000_000));
  connection.receive(Buffer.concat([REQUEST, data(1, message.subarray(0, 16_384))]));
  const granted = 65_535 + increments(connection).reduce((sum, increment) => sum + increment, 0);
  t.equal(granted, message.length, 'all of the message, and no more');
});

t.test('the window of a stream stays as it is for a message that fits', async t => {
  const connection = opened();
  const message = grpcMessage(Buffer.alloc(20_000));
  connection.receive(Buffer.concat([REQUEST, data(1, message.subarray(0, 16_384))]));
  connection.receive(data(1, message.subarray(16_384), FLAGS.endStream));
  t.strictSame(increments(connection), []);
  t.equal(framesOf(connection).at(-1)?.type, TYPE.headers, 'and the call is answered');
});

t.test('a message that is refused for its length grants nothing', async t => {
  const connection = opened();
  connection.receive(Buffer.concat([REQUEST, data(1, Buffer.from([0, 0x7f, 255, 255, 255]))]));
  t.strictSame(
    framesOf(connection).map(({ type }) => type),
    [TYPE.headers, TYPE.rstStream],
  );
  t.equal(connection.held.held, 0);
});

t.test('what has been answered is not looked at any more', async t => {
  const connection = opened();
  connection.receive(grpcCall(1, '/s/Hold'));
  t.equal(connection.waiting.length, 1);
  connection.answer();
  const before = connection.output.length;
  connection.answer();
  t.equal(connection.output.length, before);
  t.equal(connection.grpc.connection.streamCount, 0);
});

t.test('streams of answers are ended together, and none is opened after that', async t => {
  const connection = opened();
  connection.receive(Buffer.concat([grpcCall(1, '/s/Watch'), grpcCall(3, '/s/Watch')]));
  t.equal(connection.grpc.connection.streamCount, 2);
  connection.grpc.endStreams(14, 'gone');
  t.equal(connection.grpc.connection.streamCount, 0);
  connection.receive(grpcCall(5, '/s/Watch'));
  t.equal(connection.grpc.connection.streamCount, 0);
  t.equal(connection.waiting.length, 2, 'its method is not called');
});

t.test(
  'what is kept of a frame is let go with a connection that was over before it came to its end',
  async t => {
    const connection = opened();
    connection.receive(Buffer.concat([grpcCall(1, '/s/Hold'), goAway(0, 'NO_ERROR')]));
    connection.receive(grpcCall(3, '/s/Echo').subarray(0, -1));
    t.ok(connection.held.held > 0);
    connection.answer();
    t.ok(connection.grpc.connection.closed, 'in good order');
    connection.grpc.abort();
    t.equal(connection.held.held, 0);
  },
);
