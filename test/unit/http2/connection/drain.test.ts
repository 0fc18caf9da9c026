import t from 'tap';
import { END_BOTH } from '../../../support/http2-frames.ts';
import { Http2Peer } from '../../../support/http2-peer.ts';
import {
  CLIENT_PREFACE,
  data,
  ping,
  pingAck,
  rstStream,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const DRAIN_PING = 'drain...';
const drained = pingAck(Buffer.from(DRAIN_PING));

/** What the server says when it is to go away. */
function drain(peer: Http2Peer): string[] {
  peer.connection.drain();
  return peer.take();
}

t.test('a connection without requests ends as soon as the client has heard of it', async t => {
  const peer = Http2Peer.open();
  drain(peer);
  t.notOk(peer.connection.closed);
  t.strictSame(peer.send(drained), ['GOAWAY 0 NO_ERROR']);
  t.ok(peer.connection.closed);
});

t.test('a reset of the last stream ends the connection as well', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  drain(peer);
  peer.send(drained);
  t.strictSame(peer.send(rstStream(1)), []);
  t.ok(peer.connection.closed);
  t.strictSame(peer.handler.take(), ['request 1 /s/m', 'aborted 1 CANCEL']);
});

t.test('answers that wait for a window are sent before the end', async t => {
  const peer = Http2Peer.open({ settings: [[4, 0]] });
  peer.request(1, END_BOTH);
  peer.answer(1, 'x');
  drain(peer);
  peer.send(drained);
  t.notOk(peer.connection.closed);
  t.strictSame(peer.send(windowUpdate(1, 10)), ['DATA 1 "x"', 'HEADERS 1 -/0 END_STREAM']);
  t.ok(peer.connection.closed);
});

t.test('the answer to another ping does not end the drain', async t => {
  const peer = Http2Peer.open();
  drain(peer);
  t.strictSame(peer.send(pingAck(Buffer.from('alive?..')), ping(DRAIN_PING)), [`PING ack ${DRAIN_PING}`]);
  t.notOk(peer.connection.closed);
});

t.test('the answer to the drain ping, before there was one, is nothing', async t => {
  const peer = Http2Peer.open();
  t.strictSame(peer.send(drained), []);
  t.notOk(peer.connection.closed);
});

t.test('a client that does not answer the ping is not waited for without end', async t => {
  const peer = Http2Peer.open({ limits: { keepaliveTimeoutMs: 5_000 } });
  peer.tick(20_000);
  peer.request(1);
  drain(peer);
  t.strictSame(peer.tick(5_000), []);
  t.strictSame(peer.tick(1), ['GOAWAY 1 NO_ERROR']);
  peer.request(3);
  peer.answer(1, '');
  t.ok(peer.connection.closed);
  t.strictSame(peer.handler.take(), ['request 1 /s/m'], 'stream 3 came too late');
});

t.test('the streams that are served keep to the rules', async t => {
  const peer = Http2Peer.open();
  for (const id of [1, 3]) peer.request(id, END_BOTH);
  drain(peer);
  peer.send(drained);
  peer.answer(3, '');
  t.strictSame(peer.send(data(3)), ['GOAWAY 3 STREAM_CLOSED']);
});

t.test('a drain is begun once', async t => {
  const peer = Http2Peer.open();
  drain(peer);
  t.strictSame(drain(peer), []);
  peer.send(drained);
  t.strictSame(drain(peer), []);
});

t.test('a client that has not sent its preface yet learns that nothing was served', async t => {
  for (const said of [Buffer.alloc(0), CLIENT_PREFACE.subarray(0, 10), CLIENT_PREFACE]) {
    const peer = new Http2Peer();
    peer.send(said);
    t.strictSame(drain(peer), ['GOAWAY 0 NO_ERROR']);
    t.ok(peer.connection.closed);
  }
});

t.test('an error during a drain names no stream that was not served', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  drain(peer);
  peer.send(drained);
  peer.request(3);
  t.strictSame(peer.send(data(0)), ['GOAWAY 1 PROTOCOL_ERROR']);
});

t.test('an abort ends all at once, and says which streams were seen', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  peer.request(3, END_BOTH);
  peer.connection.abort(8);
  t.strictSame(peer.take(), ['GOAWAY 3 CANCEL']);
  t.strictSame(peer.handler.take().slice(2), ['aborted 1 CANCEL', 'aborted 3 CANCEL']);
  t.ok(peer.connection.closed);
  t.equal(peer.connection.streamCount, 0);
  peer.connection.abort(8);
  peer.connection.drain();
  t.strictSame(peer.tick(1_000_000), [], 'it is over');
  t.strictSame(peer.send(ping()), []);
});
