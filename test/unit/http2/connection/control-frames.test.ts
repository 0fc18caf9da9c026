import t from 'tap';
import { goAway } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import { data, frame, headers, ping, TYPE } from '../../../support/wire-frames.ts';

t.test('PING is answered while requests are in progress', async t => {
  const peer = Http2Peer.open();
  t.strictSame(peer.send(headers(1, requestBlock()), ping('12345678'), data(1)), ['PING ack 12345678']);
});

t.test(
  'an error of the connection ends it, with its streams, and names a clause (RFC 9113, 5.4.1)',
  async t => {
    const peer = Http2Peer.open();
    peer.request(1);
    peer.handler.take();
    t.strictSame(peer.send(frame(TYPE.ping, 0, 1, Buffer.alloc(8)), ping()), ['GOAWAY 1 PROTOCOL_ERROR']);
    t.strictSame(peer.handler.take(), ['aborted 1 PROTOCOL_ERROR']);
    t.match(peer.connection.fault, { scope: 'connection', message: /RFC 9113/ });
    t.ok(peer.connection.closed);
  },
);

t.test('GOAWAY carries the reason as debug data', async t => {
  const peer = Http2Peer.open();
  const [said] = peer.sendFrames(data(0));
  t.match(said, { type: 'GOAWAY', debug: 'stream frame on stream 0 (RFC 9113, 6)' });
});

t.test('GOAWAY is answered once', async t => {
  const peer = Http2Peer.open();
  peer.request(1);
  peer.send(goAway(0, 'NO_ERROR'));
  t.strictSame(peer.send(goAway(0, 'NO_ERROR'), goAway(0, 'NO_ERROR')), []);
});
