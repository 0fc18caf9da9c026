import t from 'tap';
import { END_BOTH } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import {
  CLIENT_PREFACE,
  continuation,
  data,
  headers,
  pingAck,
  settings,
  settingsAck,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const KEEPALIVE = { keepaliveIdleMs: 60_000, keepaliveTimeoutMs: 5_000 };
const PONG = pingAck(Buffer.from('alive?..'));

t.test('a silent client is asked for a sign of life, and cut without one', async t => {
  const peer = Http2Peer.open({ limits: KEEPALIVE });
  peer.request(1);
  t.strictSame(peer.tick(60_000), []);
  t.strictSame(peer.tick(1), ['PING alive?..']);
  t.strictSame(peer.tick(5_000), [], 'it is asked once');
  t.strictSame(peer.tick(1), ['GOAWAY 1 NO_ERROR']);
  t.strictSame(peer.handler.take(), ['request 1 /s/m', 'aborted 1 NO_ERROR']);
  t.match(peer.connection.fault?.message, /no response to the keepalive ping within 5000 ms/);
});

t.test('a client that answers lives on, also when it answers within the same millisecond', async t => {
  for (const laterMs of [0, 1, 5_000]) {
    const peer = Http2Peer.open({ limits: KEEPALIVE });
    for (let round = 0; round < 3; round++) {
      t.strictSame(peer.tick(60_001), ['PING alive?..']);
      peer.nowMs += laterMs;
      t.strictSame(peer.send(PONG), []);
      t.strictSame(peer.tick(0), []);
      t.strictSame(peer.tick(20_000), []);
      peer.send(PONG);
    }
  }
});

t.test('any byte is a sign of life', async t => {
  const peer = Http2Peer.open({ limits: KEEPALIVE });
  peer.tick(60_001);
  peer.send(headers(1, requestBlock()).subarray(0, 1));
  t.strictSame(peer.tick(5_001), []);
});

t.test('a client that talks is not asked', async t => {
  const peer = Http2Peer.open({ limits: KEEPALIVE });
  for (let i = 0; i < 10; i++) {
    t.strictSame(peer.tick(30_000), []);
    peer.send(windowUpdate(0, 1));
  }
});

t.test('preface and SETTINGS have to come in time', async t => {
  for (const said of [Buffer.alloc(0), CLIENT_PREFACE.subarray(0, 23), CLIENT_PREFACE]) {
    const peer = new Http2Peer({ limits: { headersMs: 1_000 } });
    peer.send(said);
    t.strictSame(peer.tick(1_000), []);
    t.strictSame(peer.tick(1), ['GOAWAY 0 ENHANCE_YOUR_CALM']);
  }
});

t.test('our SETTINGS have to be acknowledged in time (RFC 9113, 6.5.3)', async t => {
  const peer = new Http2Peer({ limits: { settingsMs: 30_000 } });
  peer.send(CLIENT_PREFACE, settings());
  t.strictSame(peer.tick(30_000), []);
  t.strictSame(peer.tick(1), ['GOAWAY 0 SETTINGS_TIMEOUT']);
  const honest = new Http2Peer({ limits: { settingsMs: 30_000 } });
  honest.send(CLIENT_PREFACE, settings(), settingsAck);
  t.strictSame(honest.tick(30_001), []);
});

t.test('a header section has to come to its end in time, however many frames it takes', async t => {
  const peer = Http2Peer.open({ limits: { headersMs: 1_000 } });
  peer.tick(5_000);
  peer.send(headers(1, requestBlock().subarray(0, 5), 0));
  t.strictSame(peer.tick(900), []);
  peer.send(continuation(1, requestBlock().subarray(5, 6)));
  t.strictSame(peer.tick(100), []);
  t.strictSame(peer.tick(1), ['GOAWAY 0 ENHANCE_YOUR_CALM']);
});

t.test('a frame has to come to its end in time, however many bytes a second it gets', async t => {
  const frame = headers(1, requestBlock());
  for (const begun of [1, 3, 4, 9, frame.length - 1]) {
    const peer = Http2Peer.open({ limits: { headersMs: 1_000 } });
    peer.tick(5_000);
    peer.send(frame.subarray(0, begun));
    t.strictSame(peer.tick(1_000), []);
    t.strictSame(peer.tick(1), ['GOAWAY 0 ENHANCE_YOUR_CALM'], `${begun} octets`);
  }
});

t.test('the time of a frame begins with its first byte', async t => {
  const frame = headers(1, requestBlock());
  const peer = Http2Peer.open({ limits: { headersMs: 1_000 } });
  peer.tick(5_000);
  peer.send(frame.subarray(0, 5));
  peer.tick(900);
  peer.send(frame.subarray(5), headers(3, requestBlock()).subarray(0, 5));
  t.strictSame(peer.tick(900), []);
  t.strictSame(peer.handler.take(), ['request 1 /s/m']);
  t.strictSame(peer.tick(101), ['GOAWAY 1 ENHANCE_YOUR_CALM']);
});

t.test('a DATA frame may take as long as an answer may wait', async t => {
  const peer = Http2Peer.open({ limits: { headersMs: 1_000, stallMs: 20_000 } });
  peer.request(1);
  peer.send(data(1, Buffer.alloc(1_000)).subarray(0, 100));
  t.strictSame(peer.tick(20_000), []);
  t.strictSame(peer.tick(1), ['GOAWAY 1 ENHANCE_YOUR_CALM']);
});

/** A client without windows, that has asked on streams 1 and 3 and is answered. */
function stalled(): Http2Peer {
  const peer = Http2Peer.open({ settings: [[4, 0]], limits: { stallMs: 10_000 } });
  for (const id of [1, 3]) peer.request(id, END_BOTH);
  peer.answer(1, 'abc');
  peer.handler.take();
  return peer;
}

t.test('an answer that waits too long for a window is given up, and no other', async t => {
  const peer = stalled();
  peer.tick(6_000);
  peer.answer(3, 'abc');
  t.strictSame(peer.tick(4_000), []);
  t.strictSame(peer.tick(1), ['RST_STREAM 1 CANCEL']);
  t.strictSame(peer.handler.take(), ['aborted 1 CANCEL']);
  t.equal(peer.connection.queuedBytes, 3);
  t.strictSame(peer.tick(6_000), ['RST_STREAM 3 CANCEL']);
  t.equal(peer.connection.queuedBytes, 0);
});

t.test('an answer that goes on, however slowly, is not given up', async t => {
  const peer = stalled();
  for (let i = 0; i < 2; i++) {
    t.strictSame(peer.tick(9_000), []);
    t.strictSame(peer.send(windowUpdate(1, 1)), [`DATA 1 "${'abc'[i]}"`]);
  }
  t.strictSame(peer.tick(10_000), []);
  t.strictSame(peer.tick(1), ['RST_STREAM 1 CANCEL'], 'the time starts again with each frame');
});

t.test('a stream that has waited before is not held to it', async t => {
  const peer = Http2Peer.open({ settings: [[4, 0]], limits: { stallMs: 10_000 } });
  peer.request(1, END_BOTH);
  peer.answer(1, 'a', 'more');
  peer.send(windowUpdate(1, 1));
  peer.tick(50_000);
  peer.send(PONG);
  peer.data(1, 'b');
  t.strictSame(peer.tick(10_000), []);
  t.strictSame(peer.tick(1), ['RST_STREAM 1 CANCEL']);
});
