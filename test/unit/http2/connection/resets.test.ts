import t from 'tap';
import { ERROR } from '../../../../src/http2/faults.ts';
import { END_BOTH, END_STREAM } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import { data, headers, rstStream } from '../../../support/wire-frames.ts';

t.test('our own frames on a stream that is closed go nowhere', async t => {
  const peer = Http2Peer.open();
  peer.request(1, END_BOTH);
  peer.send(rstStream(1));
  t.strictSame(peer.answer(1, 'late'), []);
  peer.connection.reset(peer.stream(1), ERROR.cancel);
  peer.connection.expect(peer.stream(1), 1_000_000);
  t.strictSame(peer.take(), []);
  t.equal(peer.connection.streamCount, 0);
});

t.test('the handler may reset a request while it receives it', async t => {
  const peer = Http2Peer.open();
  peer.handler.onRequest = stream => peer.connection.reset(stream, ERROR.refusedStream);
  t.strictSame(peer.send(headers(1, requestBlock()), data(1, Buffer.from('x'), END_STREAM)), [
    'RST_STREAM 1 REFUSED_STREAM',
  ]);
  t.strictSame(peer.handler.take(), ['request 1 /s/m'], 'the handler is not notified of its own reset');
});

t.test('RST_STREAM is never answered with RST_STREAM (RFC 9113, 5.4.2)', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  t.strictSame(peer.send(rstStream(1, 2), rstStream(1, 2), rstStream(1, 0xdead_beef)), []);
  t.strictSame(peer.handler.take(), ['request 1 /s/m', 'aborted 1 INTERNAL_ERROR']);
});

t.test('RST_STREAM of an unknown code is one all the same (RFC 9113, 7)', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  t.strictSame(peer.send(rstStream(1, 0xdead_beef)), []);
  t.strictSame(peer.handler.take(), ['request 1 /s/m', `aborted 1 ${0xdead_beef}`]);
});
