import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import {
  END_BOTH,
  END_STREAM,
  headersWithPriority,
  paddedData,
  paddedHeaders,
} from '../../../support/http2-frames.ts';
import {
  atOnce,
  byteByByte,
  type Chunking,
  Http2Peer,
  REQUEST,
  randomSplits,
  requestBlock,
} from '../../../support/http2-peer.ts';
import {
  CLIENT_PREFACE,
  continuation,
  data,
  fieldBlock,
  frame,
  headers,
  ping,
  priority,
  rstStream,
  settings,
  settingsAck,
  windowUpdate,
} from '../../../support/wire-frames.ts';

/** A request that makes use of the dynamic table from the second time on. */
function indexedBlocks(count: number): Buffer[] {
  const encoder = new HpackEncoder({ maxTableSize: 4_096 });
  return Array.from({ length: count }, () => {
    const to = new ByteWriter();
    encoder.startBlock(to);
    for (const [name, value] of [...REQUEST, ['x-indexed', 'yes'] as const])
      encoder.field(to, name, value, 'index');
    return Buffer.from(to.take());
  });
}

const [first, second, third] = indexedBlocks(3);
const trailers = fieldBlock([['x-sum', '1']]);

/** Something of everything that is allowed, and stream errors; each answer follows from the frames alone. */
const SCRIPT: readonly Uint8Array[] = [
  CLIENT_PREFACE,
  settings([4, 20]),
  settingsAck,
  headers(1, first),
  data(1, Buffer.from('hello ')),
  data(1, Buffer.from('world'), END_STREAM),
  paddedHeaders(3, second, 30),
  ping('12345678'),
  paddedData(3, 'padded', 200),
  headers(3, trailers, END_BOTH),
  headers(5, third.subarray(0, 2), 0),
  continuation(5, third.subarray(2, 3)),
  continuation(5, third.subarray(3), 0x4),
  frame(0x42, 0xff, 0x7fff_ffff, Buffer.alloc(300)),
  data(5, Buffer.alloc(16_384, 'x')),
  data(5, Buffer.alloc(0), END_STREAM),
  windowUpdate(1, 100),
  headersWithPriority(7, requestBlock(), 5),
  priority(9, 7),
  rstStream(7),
  headers(9, requestBlock(['X-UPPER', 'malformed']), END_BOTH),
  headers(11, requestBlock(), END_BOTH),
  windowUpdate(5, 1_000),
  ping('the last'),
];

function play(chunking: Chunking): { said: string[]; calls: string[] } {
  const peer = new Http2Peer({ chunking });
  peer.handler.onData = (stream, endStream) => {
    if (endStream) peer.connection.end(stream, Buffer.of(0x88));
  };
  return { said: peer.send(...SCRIPT), calls: peer.handler.take() };
}

t.test('it makes no difference how the bytes of a client arrive', async t => {
  const expected = play(atOnce);
  t.strictSame(
    expected.calls.map(line => line.slice(0, 40)),
    [
      'request 1 /s/m',
      'data 1 "hello "',
      'data 1 "world" end',
      'request 3 /s/m',
      'data 3 "padded"',
      'data 3 "" end',
      'request 5 /s/m',
      `data 5 "${'x'.repeat(32)}`,
      'data 5 "" end',
      'request 7 /s/m',
      'aborted 7 CANCEL',
      'request 11 /s/m end',
    ],
  );
  t.equal(expected.said.at(-1), 'PING ack the last');
  t.ok(expected.said.includes('RST_STREAM 9 PROTOCOL_ERROR'));
  t.strictSame(play(byteByByte), expected, 'byte by byte');
  for (let seed = 0; seed < 50; seed++) t.strictSame(play(randomSplits(seed)), expected, `seed ${seed}`);
});

t.test('the bytes of a chunk are not held on to', async t => {
  const peer = Http2Peer.open();
  const request = Buffer.concat([headers(1, requestBlock()), data(1, Buffer.from('whole'), END_STREAM)]);
  const chunk = Buffer.from(request.subarray(0, request.length - 3));
  peer.connection.receive(chunk, peer.nowMs);
  chunk.fill(0xff);
  peer.send(request.subarray(request.length - 3));
  t.strictSame(peer.handler.take(), ['request 1 /s/m', 'data 1 "whole" end']);
});

t.test('a frame that is too long is refused at its header, before its payload is waited for', async t => {
  for (const chunking of [atOnce, byteByByte]) {
    const peer = Http2Peer.open({ chunking });
    const header = frame(0x42, 0, 0, Buffer.alloc(16_385)).subarray(0, 9);
    t.strictSame(peer.send(header), ['GOAWAY 0 FRAME_SIZE_ERROR']);
  }
});
