import t from 'tap';
import { END_BOTH } from '../../../support/http2-frames.ts';
import { Http2Peer, requestBlock } from '../../../support/http2-peer.ts';
import { headers, ping, settings, windowUpdate } from '../../../support/wire-frames.ts';

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const INITIAL_WINDOW_SIZE = 4;

t.test('an initial size holds for streams that are opened later as well (RFC 9113, 6.9.2)', async t => {
  const peer = Http2Peer.open();
  peer.request(1, END_BOTH);
  peer.send(settings([INITIAL_WINDOW_SIZE, 2]));
  peer.request(3, END_BOTH);
  t.strictSame(peer.answer(3, 'abc'), ['HEADERS 3 200/-', 'DATA 3 "ab"']);
  t.strictSame(peer.answer(1, 'abc'), ['HEADERS 1 200/-', 'DATA 1 "ab"']);
});

t.test('an error behind good values ends the connection, without an acknowledgement', async t => {
  const wrong = settings([INITIAL_WINDOW_SIZE, 5], [ENABLE_PUSH, 7]);
  t.strictSame(Http2Peer.open().send(wrong, ping()), ['GOAWAY 0 PROTOCOL_ERROR']);
});

t.test('a frame that names the initial size thousands of times costs no more than one', async t => {
  const peer = Http2Peer.open();
  for (let id = 1; id < 2_000; id += 2) peer.request(id);
  const changes = Array.from({ length: 2_730 }, (_, i) => [INITIAL_WINDOW_SIZE, 70_000 + i] as const);
  const [flood, single] = [settings(...changes), settings([INITIAL_WINDOW_SIZE, 80_000])];
  let widened = 0;
  for (const stream of peer.handler.streams.values()) {
    const { sendWindow } = stream;
    const widen = sendWindow.widen.bind(sendWindow);
    sendWindow.widen = bytes => {
      widened++;
      return widen(bytes);
    };
  }
  peer.send(flood);
  t.equal(widened, 1_000, 'each stream once');
  t.equal(peer.stream(1).sendWindow.available, 70_000 + 2_729);
  peer.send(single);
  t.equal(widened, 2_000);
});

t.test(
  'a smaller table of the client is confirmed at the head of the next block, once (RFC 9113, 4.3.1)',
  async t => {
    const peer = Http2Peer.open({ settings: [[HEADER_TABLE_SIZE, 100]] });
    for (const id of [1, 3]) {
      peer.request(id, END_BOTH);
      peer.answer(id, '');
    }
    peer.send(settings([HEADER_TABLE_SIZE, 0]), settings([HEADER_TABLE_SIZE, 8_192]));
    peer.request(5, END_BOTH);
    peer.answer(5, '');
    t.equal(peer.blocks[0][0], 0x20, 'a table size update to 0 (RFC 7541, 6.3)');
    for (const block of peer.blocks.slice(1))
      t.not(block[0] & 0xe0, 0x20, 'none after that: it holds for ever');
  },
);

t.test('a table of the size that connections start with needs no word', async t => {
  const peer = Http2Peer.open({ settings: [[HEADER_TABLE_SIZE, 4_096]] });
  peer.request(1, END_BOTH);
  peer.answer(1, '');
  t.equal(peer.blocks[0][0], 0x88, ':status: 200');
});

t.test('a table that became smaller and larger again is confirmed as well (RFC 7541, 4.2)', async t => {
  const peer = Http2Peer.open({ settings: [[HEADER_TABLE_SIZE, 0]] });
  peer.send(settings([HEADER_TABLE_SIZE, 4_096]));
  peer.request(1, END_BOTH);
  peer.answer(1, '');
  t.equal(peer.blocks[0][0], 0x20);
});

t.test(
  'a change of the initial size in flight concerns streams that wait and streams that do not',
  async t => {
    const peer = Http2Peer.open({ settings: [[INITIAL_WINDOW_SIZE, 4]] });
    for (const id of [1, 3]) peer.send(headers(id, requestBlock(), END_BOTH));
    peer.answer(1, '123456');
    peer.send(settings([INITIAL_WINDOW_SIZE, 0]));
    t.strictSame(peer.answer(3, 'x'), ['HEADERS 3 200/-']);
    t.strictSame(peer.send(windowUpdate(3, 1)), ['DATA 3 "x"', 'HEADERS 3 -/0 END_STREAM']);
    t.strictSame(peer.send(windowUpdate(1, 4)), [], 'it owes 4');
    t.strictSame(peer.send(windowUpdate(1, 2)), ['DATA 1 "56"', 'HEADERS 1 -/0 END_STREAM']);
  },
);
