import t from 'tap';
import { Budget } from '../../../../src/http2/connection/budgets.ts';
import { BYTES_PER_UPDATE } from '../../../../src/http2/connection/control-frames.ts';
import { END_BOTH, END_STREAM, goAway } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import {
  data,
  frame,
  headers,
  ping,
  pingAck,
  priority,
  rstStream,
  settings,
  settingsAck,
  windowUpdate,
} from '../../../support/wire-frames.ts';

const TERMS = { burst: 10, perSecond: 1, perRequest: 0 };
const CALM = 'GOAWAY 1 ENHANCE_YOUR_CALM';

t.test('an allowance is spent, and comes back with time and requests, up to its burst', async t => {
  const progress = { nowMs: 0, requests: 0 };
  const budget = new Budget({ burst: 2, perSecond: 10, perRequest: 0.5 }, progress);
  const spend = (times: number): boolean[] => Array.from({ length: times }, () => budget.spend());
  t.strictSame(spend(3), [true, true, false]);
  progress.nowMs = 99;
  t.strictSame(spend(1), [false]);
  progress.nowMs = 100;
  t.strictSame(spend(2), [true, false], 'a tenth of a second');
  progress.requests = 2;
  t.strictSame(spend(2), [true, false], 'two requests');
  progress.nowMs = 1e9;
  progress.requests = 1e9;
  t.strictSame(spend(3), [true, true, false], 'no more than the burst');
  budget.earn(1.5);
  t.strictSame(spend(2), [true, false]);
});

t.test('a clock that is put back takes nothing away', async t => {
  const progress = { nowMs: 10_000, requests: 0 };
  const budget = new Budget({ burst: 1, perSecond: 1, perRequest: 0 }, progress);
  budget.spend();
  progress.nowMs = 0;
  t.equal(budget.spend(), false);
  progress.nowMs = 1_000;
  t.equal(budget.spend(), true);
});

/** Frames that cost us work and the client nothing, by the allowance that bounds them. */
const FLOODS = {
  control: {
    PING: ping(),
    'the answer to a PING': pingAck(Buffer.alloc(8)),
    SETTINGS: settings(),
    'the acknowledgement of SETTINGS': settingsAck,
    PRIORITY: priority(1),
    'a frame of an unknown type': frame(0x42, 0, 0),
    GOAWAY: goAway(0, 'NO_ERROR'),
  },
  idleFrames: {
    'empty DATA': data(1),
    'DATA of nothing but padding': data(1, Buffer.from([2, 0, 0]), 0x8),
    'WINDOW_UPDATE of the connection': windowUpdate(0, 1),
    'WINDOW_UPDATE of a stream': windowUpdate(1, 1),
  },
  resets: { 'RST_STREAM on a stream that is closed': rstStream(1) },
} as const;

for (const [allowance, frames] of Object.entries(FLOODS)) {
  for (const [name, flood] of Object.entries(frames)) {
    t.test(`${name} without end ends the connection`, async t => {
      // The handshake took two of the control frames.
      const burst = allowance === 'control' ? TERMS.burst + 2 : TERMS.burst;
      const peer = Http2Peer.open({ limits: { [allowance]: { ...TERMS, burst } } });
      peer.request(1);
      for (let i = 0; i < TERMS.burst; i++) {
        peer.send(flood);
        t.notOk(peer.connection.closed, `frame ${i}`);
      }
      t.equal(peer.send(flood).at(-1), CALM);
      t.ok(peer.connection.closed);
    });
  }
}

for (const [closing, code] of [
  ['the client', rstStream(1)],
  ['an error of the client', windowUpdate(1, 0)],
] as const) {
  for (const [name, flood] of [
    ['trailers without END_STREAM', headers(1, requestBlock())],
    ['DATA of one octet', data(1, Buffer.from('x'))],
  ] as const) {
    t.test(`${name} without end on a stream that ${closing} has reset ends the connection`, async t => {
      const peer = Http2Peer.open({ limits: { lateFrames: TERMS } });
      peer.request(1);
      peer.send(code);
      for (let i = 0; i < TERMS.burst; i++) {
        peer.send(flood);
        t.notOk(peer.connection.closed, `frame ${i}`);
      }
      t.equal(peer.send(flood).at(-1), CALM);
    });
  }
}

t.test('DATA that carries 1 KiB may come on a closed stream without end: its windows bound it', async t => {
  const peer = Http2Peer.open({ limits: { lateFrames: TERMS } });
  peer.request(1);
  peer.send(rstStream(1));
  for (let i = 0; i < 20_000; i++) peer.send(data(1, Buffer.alloc(1_024)));
  t.notOk(peer.connection.closed);
});

t.test('time brings the allowance back', async t => {
  const peer = Http2Peer.open({ limits: { control: { burst: 3, perSecond: 1, perRequest: 0 } } });
  peer.send(ping());
  for (let i = 0; i < 20; i++) {
    peer.nowMs += 1_000;
    t.strictSame(peer.send(ping()), ['PING ack ping....']);
  }
});

t.test('requests bring the allowance back', async t => {
  const peer = Http2Peer.open({ limits: { control: { burst: 3, perSecond: 0, perRequest: 1 } } });
  for (let id = 1; id < 100; id += 2) {
    peer.request(id, END_BOTH);
    peer.answer(id, '');
    t.strictSame(peer.send(ping()), ['PING ack ping....']);
  }
});

t.test('streams opened and reset at once end the connection ("rapid reset")', async t => {
  const peer = Http2Peer.open({ limits: { resets: { ...TERMS, perSecond: 0 } } });
  peer.nowMs += 1_000;
  const pair = (id: number): Buffer[] => [headers(id, requestBlock(), END_BOTH), rstStream(id)];
  for (let id = 1; id < 20; id += 2) t.strictSame(peer.send(...pair(id)), []);
  t.strictSame(peer.send(...pair(21)), ['GOAWAY 21 ENHANCE_YOUR_CALM']);
});

t.test('streams that had time to be answered may be reset without end', async t => {
  const peer = Http2Peer.open({ limits: { resets: TERMS, patienceMs: 10 } });
  for (let id = 1; id < 200; id += 2) {
    peer.request(id, END_BOTH);
    peer.nowMs += 10;
    peer.send(rstStream(id));
  }
  t.notOk(peer.connection.closed);
});

t.test('malformed requests without end end the connection', async t => {
  const peer = Http2Peer.open({ limits: { streamFaults: TERMS } });
  const malformed = (id: number): Buffer => headers(id, requestBlock(['X-UPPER', '']));
  for (let id = 1; id < 20; id += 2)
    t.strictSame(peer.send(malformed(id)), [`RST_STREAM ${id} PROTOCOL_ERROR`]);
  t.strictSame(peer.send(malformed(21)), ['GOAWAY 21 ENHANCE_YOUR_CALM']);
});

t.test('making the server reset streams is bounded like that, whatever the error', async t => {
  const peer = Http2Peer.open({ limits: { streamFaults: TERMS } });
  for (let id = 1; id < 20; id += 2) peer.send(headers(id, requestBlock(), END_BOTH), windowUpdate(id, 0));
  peer.take();
  t.strictSame(peer.send(headers(21, requestBlock(), END_BOTH), data(21, Buffer.from('x'))), [
    'GOAWAY 21 ENHANCE_YOUR_CALM',
  ]);
});

t.test(
  'streams beyond the limit are refused, and asking for them without end ends the connection',
  async t => {
    const peer = Http2Peer.open({ limits: { maxStreams: 2, resets: TERMS } });
    for (const id of [1, 3]) peer.request(id);
    for (let id = 5; id < 25; id += 2) t.strictSame(peer.request(id), [`RST_STREAM ${id} REFUSED_STREAM`]);
    t.strictSame(peer.request(25), ['GOAWAY 25 ENHANCE_YOUR_CALM']);
  },
);

t.test('a stream that ends makes room for another (RFC 9113, 5.1.2)', async t => {
  const peer = Http2Peer.open({ limits: { maxStreams: 2 } });
  for (const id of [1, 3]) peer.request(id, END_BOTH);
  t.strictSame(peer.request(5), ['RST_STREAM 5 REFUSED_STREAM']);
  t.strictSame(peer.send(data(5, Buffer.from('in flight'), END_STREAM)), []);
  peer.answer(1, '');
  t.strictSame(peer.request(7, END_BOTH), []);
  peer.send(rstStream(3));
  t.strictSame(peer.request(9, END_BOTH), []);
  t.strictSame(peer.handler.take(), [
    'request 1 /s/m end',
    'request 3 /s/m end',
    'request 7 /s/m end',
    'aborted 3 CANCEL',
    'request 9 /s/m end',
  ]);
});

t.test('what we send earns the window updates that it takes', async t => {
  const peer = Http2Peer.open({ limits: { idleFrames: TERMS } });
  peer.request(1, END_BOTH);
  peer.answer(1, '', 'more');
  for (let i = 0; i < 200; i++) {
    peer.data(1, 'x'.repeat(2 * BYTES_PER_UPDATE));
    peer.send(windowUpdate(0, 2 * BYTES_PER_UPDATE), windowUpdate(1, 2 * BYTES_PER_UPDATE));
  }
  t.notOk(peer.connection.closed);
});

t.test('what we send earns once', async t => {
  const peer = Http2Peer.open({ limits: { idleFrames: TERMS } });
  peer.request(1, END_BOTH);
  peer.answer(1, 'x'.repeat(20 * BYTES_PER_UPDATE), 'more');
  for (let i = 0; i < TERMS.burst; i++) t.strictSame(peer.send(windowUpdate(1, 1)), []);
  t.strictSame(peer.send(windowUpdate(1, 1)), [CALM]);
});

t.test(
  'widening a window octet by octet, for a frame each, ends the connection ("data dribble")',
  async t => {
    const peer = Http2Peer.open({ settings: [[4, 0]], limits: { idleFrames: TERMS } });
    peer.request(1, END_BOTH);
    peer.answer(1, 'x'.repeat(1_000));
    for (let i = 0; i < TERMS.burst; i++) t.strictSame(peer.send(windowUpdate(1, 1)), ['DATA 1 "x"']);
    t.strictSame(peer.send(windowUpdate(1, 1)), [CALM]);
  },
);

t.test('DATA with content and END_STREAM alone cost no allowance', async t => {
  const peer = Http2Peer.open({ limits: { idleFrames: { ...TERMS, burst: 1 } } });
  for (let id = 1; id < 60; id += 2)
    peer.send(headers(id, requestBlock()), data(id, Buffer.from('x')), data(id, Buffer.alloc(0), END_STREAM));
  t.notOk(peer.connection.closed);
});

t.test('frames on streams that we have reset are ignored, however many those are', async t => {
  const peer = Http2Peer.open({ limits: { streamFaults: { ...TERMS, burst: 5_000 } } });
  const ids = Array.from({ length: 2_000 }, (_, i) => 2 * i + 1);
  for (const id of ids) peer.send(headers(id, requestBlock(['X-UPPER', ''])));
  for (const id of ids) peer.send(data(id, Buffer.from('x')));
  t.notOk(peer.connection.closed);
});
