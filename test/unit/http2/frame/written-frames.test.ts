import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { ERROR } from '../../../../src/http2/faults.ts';
import {
  LAST_STREAM_OPEN,
  SETTING,
  writeGoAway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../../../src/http2/frame/control.ts';
import {
  FLAG,
  FRAME,
  frameLength,
  readUint31,
  readUint32,
  writeFrameHeader,
  writeUint32,
} from '../../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../../src/http2/frame/headers.ts';
import { hexOf, octets } from '../hpack/blocks.ts';

/** What `write` appends. */
function written(write: (to: ByteWriter) => void): Uint8Array {
  const to = new ByteWriter(0);
  write(to);
  return to.take();
}

const OPAQUE = octets('01020304 050607ff');
const BLOCK = octets('880f100161');

/** Frames in hex: length, type, flags and stream (RFC 9113, 4.1), and behind the line the fields of the payload. */
const FRAMES: readonly [what: string, write: (to: ByteWriter) => void, hex: string][] = [
  [
    'a header alone, with the highest stream (4.1)',
    to => writeFrameHeader(to, 66_051, FRAME.continuation, FLAG.endHeaders, 0x7fff_ffff),
    '010203 09 04 7fffffff',
  ],
  ['PING (6.7)', to => writePing(to, 'request', OPAQUE, 0), '000008 06 00 00000000 | 01020304050607ff'],
  [
    'the answer to PING (6.7)',
    to => writePing(to, 'ack', OPAQUE, 0),
    '000008 06 01 00000000 | 01020304050607ff',
  ],
  [
    'GOAWAY with last stream, code and reason (6.8)',
    to => writeGoAway(to, 0x0102_0305, ERROR.protocolError, 'why'),
    '00000b 07 00 00000000 | 01020305 00000001 776879',
  ],
  [
    'the GOAWAY that leaves the last stream open (6.8)',
    to => writeGoAway(to, LAST_STREAM_OPEN, ERROR.noError, ''),
    '000008 07 00 00000000 | 7fffffff 00000000',
  ],
  [
    'RST_STREAM (6.4)',
    to => writeRstStream(to, 0x0102_0305, ERROR.enhanceYourCalm),
    '000004 03 00 01020305 | 0000000b',
  ],
  ['WINDOW_UPDATE (6.9)', to => writeWindowUpdate(to, 3, 0x7fff_ffff), '000004 08 00 00000003 | 7fffffff'],
  [
    'SETTINGS in their order (6.5)',
    to =>
      writeSettings(to, [
        [SETTING.maxConcurrentStreams, 1_000],
        [0x0102, 0xffff_ffff],
      ]),
    '00000c 04 00 00000000 | 0003 000003e8 0102 ffffffff',
  ],
  ['an acknowledgement of SETTINGS (6.5)', to => writeSettingsAck(to), '000000 04 01 00000000'],
  [
    'a block that fits, with END_HEADERS (6.2)',
    to => writeHeaders(to, 5, BLOCK, { endStream: false, maxFrameBytes: 5 }),
    '000005 01 04 00000005 | 880f100161',
  ],
  [
    'a block that fits and has nothing behind it, with END_STREAM as well (6.2)',
    to => writeHeaders(to, 5, BLOCK, { endStream: true, maxFrameBytes: 5 }),
    '000005 01 05 00000005 | 880f100161',
  ],
  [
    'a longer block: END_STREAM is with HEADERS, END_HEADERS with the last CONTINUATION (6.10)',
    to => writeHeaders(to, 5, BLOCK, { endStream: true, maxFrameBytes: 2 }),
    '000002 01 01 00000005 | 880f  000002 09 00 00000005 | 1001  000001 09 04 00000005 | 61',
  ],
  [
    'a block that fills its frames, without an empty one behind them',
    to => writeHeaders(to, 5, BLOCK.subarray(0, 4), { endStream: true, maxFrameBytes: 2 }),
    '000002 01 01 00000005 | 880f  000002 09 04 00000005 | 1001',
  ],
];

for (const [what, write, hex] of FRAMES)
  t.test(`what is written is ${what}`, async t =>
    t.equal(hexOf(written(write)), hex.replaceAll(/[ |]/g, '')),
  );

t.test('a long reason is cut, also where it takes more octets than characters', async t => {
  const frame = written(to => writeGoAway(to, 0, ERROR.noError, 'ü'.repeat(500)));
  t.equal(frame.length, 9 + 8 + 400);
  t.equal(frameLength(frame, 0), 408, 'the length says so');
});

t.test('length and stream of a header are read, the reserved bit is ignored (RFC 9113, 4.1)', async t => {
  const header = octets('010203 00 00 80000005');
  t.equal(frameLength(header, 0), 66_051);
  t.equal(readUint31(header, 5), 5);
});

t.test('32 bits are read and written most significant octet first', async t => {
  for (const value of [0, 1, 0x0102_0304, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
    const bytes = written(to => writeUint32(to, value));
    t.equal(hexOf(bytes), value.toString(16).padStart(8, '0'));
    t.equal(readUint32(bytes, 0), value);
    t.equal(readUint31(bytes, 0), value % 0x8000_0000, 'and 31 of them without the first');
  }
});

t.test('types, flags, parameters and codes have the numbers of RFC 9113, 6 and 7', async t => {
  t.same(Object.values(FRAME), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.same(FLAG, { endStream: 0x01, ack: 0x01, endHeaders: 0x04, padded: 0x08, priority: 0x20 });
  t.same(Object.values(SETTING), [1, 2, 3, 4, 5, 6]);
  t.same(Object.values(ERROR), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  t.same(
    Object.keys(FRAME).join(),
    'data,headers,priority,rstStream,settings,pushPromise,ping,goAway,windowUpdate,continuation',
  );
  t.same(
    Object.keys(SETTING).join(),
    'headerTableSize,enablePush,maxConcurrentStreams,initialWindowSize,maxFrameSize,maxHeaderListSize',
  );
});
