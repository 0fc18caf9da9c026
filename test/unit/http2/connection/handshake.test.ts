import t from 'tap';
import { PREFACE } from '../../../../src/http2/connection/partial-input.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import { data, headers, ping, settings } from '../../../support/wire-frames.ts';

t.test('the server begins with SETTINGS, before it has heard anything (RFC 9113, 3.4)', async t => {
  const peer = new Http2Peer({
    limits: { maxStreams: 7, streamWindow: 70_000, maxHeaderListBytes: 9_000, connectionWindow: 100_000 },
  });
  t.strictSame(peer.takeFrames(), [
    {
      type: 'SETTINGS',
      ack: false,
      settings: { MAX_CONCURRENT_STREAMS: 7, INITIAL_WINDOW_SIZE: 70_000, MAX_HEADER_LIST_SIZE: 9_000 },
    },
    { type: 'WINDOW_UPDATE', stream: 0, increment: 100_000 - 65_535 },
  ]);
});

t.test('a connection window below the one that connections start with is not asked for', async t => {
  const peer = new Http2Peer({ limits: { connectionWindow: 1_000 } });
  t.strictSame(
    peer.takeFrames().map(({ type }) => type),
    ['SETTINGS'],
  );
});

t.test('the preface is the 24 octets of RFC 9113, 3.4', async t => {
  t.equal(PREFACE.toString('hex'), '505249202a20485454502f322e300d0a0d0a534d0d0a0d0a');
});

t.test('a preface that differs in any octet is a PROTOCOL_ERROR at that octet (RFC 9113, 3.4)', async t => {
  for (let wrong = 0; wrong < PREFACE.length; wrong++) {
    const bytes = Buffer.from(PREFACE);
    bytes[wrong] ^= 0x20;
    const peer = new Http2Peer();
    peer.take();
    t.strictSame(peer.send(bytes.subarray(0, wrong)), [], 'what came before is fine');
    t.strictSame(peer.send(bytes.subarray(wrong, wrong + 1)), ['GOAWAY 0 PROTOCOL_ERROR']);
    t.ok(peer.connection.closed);
    t.strictSame(peer.send(bytes.subarray(wrong + 1), settings()), [], 'nothing is heard any more');
  }
});

t.test('what follows an error in the same read is not handled (RFC 9113, 5.4.1)', async t => {
  const peer = Http2Peer.open();
  t.strictSame(peer.send(data(0), headers(1, requestBlock()), ping()), ['GOAWAY 0 PROTOCOL_ERROR']);
  t.strictSame(peer.handler.take(), []);
});
