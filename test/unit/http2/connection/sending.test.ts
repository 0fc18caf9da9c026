import t from 'tap';
import { END_BOTH, END_STREAM } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import { headers, rstStream, settings, windowUpdate } from '../../../support/wire-frames.ts';

const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const LARGEST = 0x7fff_ffff;

/** A client whose streams may get so much, with requests on streams 1, 3, … that wait for their answer. */
function asked(initialWindow: number, streams = 1): Http2Peer {
  const peer = Http2Peer.open({ settings: [[INITIAL_WINDOW_SIZE, initialWindow]] });
  for (let i = 0; i < streams; i++) peer.request(2 * i + 1, END_BOTH);
  return peer;
}

t.test('an answer that fits leaves at once, whole', async t => {
  t.strictSame(asked(100).answer(1, 'hello'), [
    'HEADERS 1 200/-',
    'DATA 1 "hello"',
    'HEADERS 1 -/0 END_STREAM',
  ]);
});

t.test('an answer without content needs no window (RFC 9113, 6.9)', async t => {
  const peer = asked(0);
  t.strictSame(peer.end(1), ['HEADERS 1 -/0 END_STREAM']);
});

t.test('data of no octets is a frame when nothing waits, and nothing when something does', async t => {
  const peer = asked(0);
  t.strictSame(peer.answer(1, '', 'more'), ['HEADERS 1 200/-', 'DATA 1 ""']);
  peer.data(1, 'x');
  peer.data(1, '');
  t.strictSame(peer.send(windowUpdate(1, 5)), ['DATA 1 "x"']);
});

t.test('frames are no longer than the client accepts (RFC 9113, 4.2)', async t => {
  const peer = Http2Peer.open();
  peer.request(1, END_BOTH);
  t.strictSame(peer.answer(1, 'a'.repeat(16_385)).slice(1, 3), ['DATA 1 16384 octets', 'DATA 1 "a"']);
});

t.test('trailers longer than a frame go on in CONTINUATION (RFC 9113, 6.10)', async t => {
  const peer = Http2Peer.open();
  peer.request(1, END_BOTH);
  const block = requestBlock(['x-long', 'x'.repeat(40_000)]);
  peer.connection.end(peer.stream(1), block);
  const [frame] = peer.takeFrames();
  t.match(frame, { type: 'HEADERS', endStream: true, fields: { 'x-long': 'x'.repeat(40_000) } });
});

t.test('streams take turns, a frame each, when the connection window opens', async t => {
  const peer = asked(LARGEST, 4);
  peer.answer(1, 'a'.repeat(65_535));
  for (const id of [3, 5, 7]) peer.answer(id, 'b'.repeat(20_000));
  t.strictSame(peer.send(windowUpdate(0, 60_000)), [
    'DATA 3 16384 octets',
    'DATA 5 16384 octets',
    'DATA 7 16384 octets',
    'DATA 3 3616 octets',
    'HEADERS 3 -/0 END_STREAM',
    'DATA 5 3616 octets',
    'HEADERS 5 -/0 END_STREAM',
    'DATA 7 3616 octets',
    'HEADERS 7 -/0 END_STREAM',
  ]);
});

t.test('the turn is kept from one window update to the next, so that none starves', async t => {
  const peer = asked(LARGEST, 4);
  peer.answer(1, 'a'.repeat(65_535));
  for (const id of [3, 5, 7]) peer.answer(id, 'b'.repeat(100));
  const order = Array.from({ length: 6 }, () => peer.send(windowUpdate(0, 10))).flat();
  t.strictSame(
    order,
    [3, 5, 7, 3, 5, 7].map(id => `DATA ${id} "${'b'.repeat(10)}"`),
  );
});

t.test('a stream whose own window is shut holds up no other', async t => {
  const peer = asked(0, 3);
  for (const id of [1, 3, 5]) peer.answer(id, `of ${id}`);
  peer.send(windowUpdate(5, 100));
  t.strictSame(peer.send(windowUpdate(3, 2)), ['DATA 3 "of"']);
  t.strictSame(peer.send(windowUpdate(0, 100)), [], 'the others wait for their own');
  t.strictSame(peer.send(windowUpdate(1, 4)), ['DATA 1 "of 1"', 'HEADERS 1 -/0 END_STREAM']);
});

t.test('a stream may wait for both windows, and gets them one after the other', async t => {
  const peer = asked(65_535, 2);
  peer.answer(1, 'a'.repeat(65_535));
  peer.send(settings([INITIAL_WINDOW_SIZE, 0]));
  peer.answer(3, 'abc');
  t.strictSame(peer.send(windowUpdate(3, 2)), []);
  t.strictSame(peer.send(windowUpdate(0, 1)), ['DATA 3 "a"']);
  t.strictSame(peer.send(windowUpdate(0, 9)), ['DATA 3 "b"']);
  t.strictSame(peer.send(windowUpdate(3, 9)), ['DATA 3 "c"', 'HEADERS 3 -/0 END_STREAM']);
});

t.test('what a handler sends while data waits goes behind it', async t => {
  const peer = asked(2);
  peer.answer(1, 'abc', 'more');
  peer.data(1, 'def');
  t.strictSame(peer.send(windowUpdate(1, 3)), ['DATA 1 "cde"']);
  peer.data(1, 'g');
  t.strictSame(peer.end(1), []);
  t.strictSame(peer.send(windowUpdate(1, 3)), ['DATA 1 "fg"', 'HEADERS 1 -/0 END_STREAM']);
});

t.test('what is sent may consist of two parts, which share a frame if the windows allow it', async t => {
  const parts = [Buffer.from('bc'), Buffer.from('a')] as const;
  const roomy = asked(100);
  roomy.connection.sendData(roomy.stream(1), ...parts);
  t.strictSame(roomy.take(), ['DATA 1 "abc"']);
  const peer = asked(2);
  peer.connection.sendData(peer.stream(1), ...parts);
  t.strictSame(peer.take(), ['DATA 1 "ab"']);
  t.strictSame(peer.send(windowUpdate(1, 9)), ['DATA 1 "c"']);
  peer.connection.sendData(peer.stream(1), ...parts);
  t.strictSame(peer.take(), ['DATA 1 "abc"'], 'at once, once nothing waits');
});

t.test('what waits is a copy', async t => {
  const peer = asked(0);
  const bytes = Buffer.from('abc');
  peer.connection.sendData(peer.stream(1), bytes);
  bytes.fill(0);
  t.strictSame(peer.send(windowUpdate(1, 3)), ['DATA 1 "abc"']);
});

t.test('a reset drops what waits, and gives the memory back', async t => {
  const peer = asked(0, 2);
  peer.answer(1, 'a'.repeat(1_000));
  peer.answer(3, 'b'.repeat(10));
  t.equal(peer.connection.queuedBytes, 1_010);
  peer.send(rstStream(1));
  t.equal(peer.connection.queuedBytes, 10);
  t.strictSame(peer.send(settings([INITIAL_WINDOW_SIZE, 100])), [
    'SETTINGS ack',
    'DATA 3 "bbbbbbbbbb"',
    'HEADERS 3 -/0 END_STREAM',
  ]);
});

t.test('a larger frame size of the client is made use of, within reason', async t => {
  const peer = Http2Peer.open({ settings: [[INITIAL_WINDOW_SIZE, LARGEST]] });
  peer.send(settings([MAX_FRAME_SIZE, 16_777_215]), windowUpdate(0, 1_000_000));
  peer.request(1, END_BOTH);
  const bytes = Buffer.alloc(100_000);
  peer.connection.sendData(peer.stream(1), bytes);
  const { output } = peer.connection;
  const lengths: number[] = [];
  for (let at = 0; at < output.length; at += 9 + (lengths.at(-1) as number))
    lengths.push(Buffer.from(output.view()).readUIntBE(at, 3));
  t.strictSame(lengths, [65_536, 34_464]);
});

t.test('an early answer asks for no more of the request (RFC 9113, 8.1)', async t => {
  const peer = Http2Peer.open();
  peer.send(headers(1, requestBlock()));
  t.strictSame(peer.answer(1, 'early'), [
    'HEADERS 1 200/-',
    'DATA 1 "early"',
    'HEADERS 1 -/0 END_STREAM',
    'RST_STREAM 1 NO_ERROR',
  ]);
  peer.request(3, END_STREAM | 0x4);
  t.notMatch(peer.answer(3, 'in time').at(-1), /RST_STREAM/);
});
