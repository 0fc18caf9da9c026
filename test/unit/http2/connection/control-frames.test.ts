import t from 'tap';
import { END_BOTH, goAway, pushPromise } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import {
  data,
  frame,
  headers,
  ping,
  pingAck,
  priority,
  rstStream,
  TYPE,
  windowUpdate,
} from '../../../support/wire-frames.ts';

t.test('PING is answered with its octets (RFC 9113, 6.7)', async t => {
  t.strictSame(Http2Peer.open().send(ping('\u0000\u0001pq\u007f..~'), ping('another.')), [
    'PING ack \u0000\u0001pq\u007f..~',
    'PING ack another.',
  ]);
});

t.test('the answer to a PING is not answered (RFC 9113, 6.7)', async t => {
  t.strictSame(Http2Peer.open().send(pingAck(Buffer.alloc(8))), []);
});

t.test('PING is answered while requests are in progress', async t => {
  const peer = Http2Peer.open();
  t.strictSame(peer.send(headers(1, requestBlock()), ping('12345678'), data(1)), ['PING ack 12345678']);
});

/** Frames that end the connection, on one that has stream 1 open. */
const FATAL: Record<string, { sent: Buffer; code: string }> = {
  'DATA on stream 0 (RFC 9113, 6.1)': { sent: data(0), code: 'PROTOCOL_ERROR' },
  'DATA with padding as long as its payload (RFC 9113, 6.1)': {
    sent: data(1, Buffer.of(1), 0x8),
    code: 'PROTOCOL_ERROR',
  },
  'DATA that is padded and empty (RFC 9113, 4.2)': {
    sent: data(1, Buffer.alloc(0), 0x8),
    code: 'FRAME_SIZE_ERROR',
  },
  'HEADERS with padding longer than their room for it (RFC 9113, 6.2)': {
    sent: headers(3, Buffer.of(9, 0x82), 0xc),
    code: 'PROTOCOL_ERROR',
  },
  'HEADERS too short for their priority (RFC 9113, 6.2)': {
    sent: headers(3, Buffer.alloc(4), 0x24),
    code: 'FRAME_SIZE_ERROR',
  },
  'HEADERS on stream 0 (RFC 9113, 6.2)': { sent: headers(0, requestBlock()), code: 'PROTOCOL_ERROR' },
  'PRIORITY on stream 0 (RFC 9113, 6.3)': { sent: priority(0), code: 'PROTOCOL_ERROR' },
  'RST_STREAM on stream 0 (RFC 9113, 6.4)': { sent: rstStream(0), code: 'PROTOCOL_ERROR' },
  'RST_STREAM of 3 octets (RFC 9113, 6.4)': {
    sent: frame(TYPE.rstStream, 0, 1, Buffer.alloc(3)),
    code: 'FRAME_SIZE_ERROR',
  },
  'PUSH_PROMISE (RFC 9113, 8.4)': { sent: pushPromise(1, 2, requestBlock()), code: 'PROTOCOL_ERROR' },
  'PING on a stream (RFC 9113, 6.7)': {
    sent: frame(TYPE.ping, 0, 1, Buffer.alloc(8)),
    code: 'PROTOCOL_ERROR',
  },
  'PING of 6 octets (RFC 9113, 6.7)': {
    sent: frame(TYPE.ping, 0, 0, Buffer.alloc(6)),
    code: 'FRAME_SIZE_ERROR',
  },
  'GOAWAY on a stream (RFC 9113, 6.8)': {
    sent: frame(TYPE.goAway, 0, 1, Buffer.alloc(8)),
    code: 'PROTOCOL_ERROR',
  },
  'GOAWAY of 7 octets (RFC 9113, 4.2)': {
    sent: frame(TYPE.goAway, 0, 0, Buffer.alloc(7)),
    code: 'FRAME_SIZE_ERROR',
  },
  'WINDOW_UPDATE by 0 on the connection (RFC 9113, 6.9)': {
    sent: windowUpdate(0, 0),
    code: 'PROTOCOL_ERROR',
  },
  'WINDOW_UPDATE of 3 octets (RFC 9113, 6.9)': {
    sent: frame(TYPE.windowUpdate, 0, 1, Buffer.alloc(3)),
    code: 'FRAME_SIZE_ERROR',
  },
  'CONTINUATION on stream 0 (RFC 9113, 6.10)': {
    sent: frame(TYPE.continuation, 0x4, 0),
    code: 'PROTOCOL_ERROR',
  },
};

for (const [what, { sent, code }] of Object.entries(FATAL)) {
  t.test(`${what} ends the connection with ${code}`, async t => {
    const peer = Http2Peer.open();
    peer.request(1);
    peer.handler.take();
    t.strictSame(peer.send(sent, ping()), [`GOAWAY 1 ${code}`]);
    t.strictSame(peer.handler.take(), [`aborted 1 ${code}`]);
    t.match(peer.connection.fault, { scope: 'connection', message: /RFC 9113/ });
    t.ok(peer.connection.closed);
  });
}

t.test('GOAWAY carries the reason as debug data', async t => {
  const peer = Http2Peer.open();
  const [said] = peer.sendFrames(data(0));
  t.match(said, { type: 'GOAWAY', debug: 'stream frame on stream 0 (RFC 9113, 6)' });
});

t.test('frames of unknown types are ignored, on any stream (RFC 9113, 4.1 and 5.5)', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  peer.handler.take();
  for (const [type, stream] of [
    [0x0a, 0],
    [0x42, 1],
    [0xff, 9],
  ])
    t.strictSame(peer.send(frame(type, 0xff, stream, Buffer.alloc(100))), []);
  t.strictSame(peer.handler.take(), []);
});

t.test('PRIORITY has no effect, wherever it comes (RFC 9113, 5.3.2)', async t => {
  const peer = Http2Peer.open();
  t.strictSame(peer.send(priority(5, 3), priority(1, 7)), []);
  peer.request(1, END_BOTH);
  t.strictSame(peer.handler.take(), ['request 1 /s/m end'], 'it opens no stream');
});

t.test(
  'PRIORITY that depends on itself is an error of the stream, or without one, of the connection',
  async t => {
    const peer = Http2Peer.open();
    peer.request(1);
    t.strictSame(peer.send(priority(1, 1)), ['RST_STREAM 1 PROTOCOL_ERROR']);
    t.strictSame(peer.send(priority(3, 3)), ['GOAWAY 1 PROTOCOL_ERROR'], 'an idle stream cannot be reset');
  },
);

t.test(
  'a GOAWAY of the client lets its requests be answered, and then ends the connection (RFC 9113, 6.8)',
  async t => {
    const peer = Http2Peer.open();
    peer.request(1);
    t.strictSame(peer.send(goAway(0, 'NO_ERROR', 'bye')), ['GOAWAY 1 NO_ERROR']);
    t.strictSame(peer.send(ping('12345678')), ['PING ack 12345678']);
    peer.send(data(1, Buffer.from('x'), 0x1));
    t.notOk(peer.connection.closed);
    t.strictSame(peer.answer(1, ''), ['HEADERS 1 200/-', 'DATA 1 ""', 'HEADERS 1 -/0 END_STREAM']);
    t.ok(peer.connection.closed);
    t.equal(peer.connection.fault, null);
  },
);

t.test('a GOAWAY with nothing to answer ends the connection, whatever its code (RFC 9113, 7)', async t => {
  for (const code of [0, 2, 0xff]) {
    const peer = Http2Peer.open();
    t.strictSame(peer.send(goAway(0, code)), ['GOAWAY 0 NO_ERROR']);
    t.ok(peer.connection.closed);
  }
});

t.test('GOAWAY is answered once', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  peer.send(goAway(0, 'NO_ERROR'));
  t.strictSame(peer.send(goAway(0, 'NO_ERROR'), goAway(0, 'NO_ERROR')), []);
});
