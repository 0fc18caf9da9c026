import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { ReceiveWindows } from '../../../../src/http2/connection/receive-windows.ts';
import { END_BOTH, END_STREAM } from '../../../support/http2-frames.ts';
import { Http2Peer } from '../../../support/http2-peer.ts';
import {
  data,
  fieldBlock,
  headers,
  PARAMETER,
  rstStream,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const KIB = 1_024;

/** A client that has opened stream 1, to a server that grants little. */
function opened(streamWindow: number, connectionWindow = 65_535): Http2Peer {
  const peer = Http2Peer.open({ limits: { streamWindow, connectionWindow } });
  peer.request(1);
  peer.handler.take();
  return peer;
}

const octets = (count: number): Buffer => Buffer.alloc(count, 'x');

t.test('more data than the window of the connection ends it (RFC 9113, 6.9.1)', async t => {
  // A window that is brought back in time cannot be exceeded by a frame of 16,384 octets, so there is no such client.
  const windows = new ReceiveWindows(new ByteWriter(), 65_535);
  t.equal(windows.receive(65_535), null, 'up to the window');
  t.match(windows.receive(65_536), { scope: 'connection', code: 3 });
});

t.test('the window of the connection is brought back once half of it is used', async t => {
  const peer = opened(1_000_000);
  t.strictSame(peer.send(data(1, octets(16 * KIB)), data(1, octets(16 * KIB - 1))), []);
  t.strictSame(peer.send(data(1, octets(1))), ['WINDOW_UPDATE 0 +32768']);
});

t.test('the window of the stream is brought back once half of it is used', async t => {
  const peer = opened(100);
  t.strictSame(peer.send(data(1, octets(49))), []);
  t.strictSame(peer.send(data(1, octets(1))), ['WINDOW_UPDATE 1 +50']);
  t.strictSame(peer.send(data(1, octets(99))), ['WINDOW_UPDATE 1 +99']);
});

t.test('nothing is granted to a request that is at its end', async t => {
  const peer = opened(100);
  t.strictSame(peer.send(data(1, octets(90), END_STREAM)), []);
});

t.test('a window grows for a message that is known to be longer', async t => {
  const peer = opened(100);
  peer.handler.onData = stream => peer.connection.expect(stream, 1_000);
  t.strictSame(peer.send(data(1, octets(10))), ['WINDOW_UPDATE 1 +910']);
  peer.handler.onData = () => {};
  t.strictSame(peer.send(data(1, octets(499))), []);
  t.strictSame(peer.send(data(1, octets(1))), ['WINDOW_UPDATE 1 +500'], 'and keeps that size');
});

t.test('a window grows at once, also when nothing comes', async t => {
  const peer = opened(100);
  peer.connection.expect(peer.stream(1), 1_000);
  t.strictSame(peer.take(), ['WINDOW_UPDATE 1 +900']);
});

t.test('what the window already allows is not granted twice', async t => {
  const peer = opened(100);
  peer.connection.expect(peer.stream(1), 100);
  t.strictSame(peer.take(), []);
});

t.test('nothing is expected of a request that has ended', async t => {
  const peer = opened(100);
  peer.request(3, END_BOTH);
  peer.connection.expect(peer.stream(3), 1_000);
  t.strictSame(peer.take(), []);
});

t.test('data of a request that is refused for its length counts as well', async t => {
  const peer = opened(100);
  t.strictSame(peer.send(data(1, octets(16 * KIB)), data(1, octets(16 * KIB))), [
    'RST_STREAM 1 FLOW_CONTROL_ERROR',
    'WINDOW_UPDATE 0 +32768',
  ]);
});

t.test('a stream leaves nothing behind when it is reset in the middle of its request', async t => {
  const peer = opened(1_000);
  peer.send(data(1, octets(300)), rstStream(1));
  t.strictSame(peer.handler.take(), [`data 1 "${'x'.repeat(300)}"`, 'aborted 1 CANCEL']);
  t.equal(peer.connection.streamCount, 0);
});

for (const [name, end] of [
  ['data', data(1, octets(1), END_STREAM)],
  ['trailers', headers(1, fieldBlock([['x-sum', '1']]), END_BOTH)],
] as const) {
  t.test(`the rest of a request after its response is ignored, up to its end by ${name}`, async t => {
    const peer = Http2Peer.open({ settings: [[PARAMETER.initialWindowSize, 0]] });
    peer.request(1);
    t.strictSame(peer.answer(1, 'early'), ['HEADERS 1 200/-'], 'which waits for a window');
    peer.handler.take();
    t.strictSame(peer.send(data(1, octets(100)), end), []);
    t.strictSame(peer.handler.take(), []);
    t.strictSame(peer.send(windowUpdate(1, 5)), ['DATA 1 "early"', 'HEADERS 1 -/0 END_STREAM']);
    t.equal(peer.connection.streamCount, 0);
  });
}
