import t from 'tap';
import type { Http2Fault } from '../../../../src/http2/faults.ts';
import {
  checkGoAway,
  checkPing,
  checkRstStream,
  checkWindowUpdate,
  readSettings,
  SETTING,
} from '../../../../src/http2/frame/control.ts';
import { FLAG, type Range, stripPadding } from '../../../../src/http2/frame/frame.ts';
import { checkPriority, readHeaders } from '../../../../src/http2/frame/headers.ts';
import { hexOf, octets } from '../hpack/blocks.ts';

/** What a payload is read to: the octets that are left of it in hex, or the fault. */
type Outcome = string | { readonly scope: 'stream' | 'connection'; readonly code: number };

const PROTOCOL_ERROR: Outcome = { scope: 'connection', code: 1 };
const FLOW_CONTROL_ERROR: Outcome = { scope: 'connection', code: 3 };
const FRAME_SIZE_ERROR: Outcome = { scope: 'connection', code: 6 };
const OF_STREAM: Outcome = { scope: 'stream', code: 1 };
const SIZE_OF_STREAM: Outcome = { scope: 'stream', code: 6 };

type Read = (bytes: Uint8Array, range: Range) => Http2Fault | null;

/** Reads a payload that stands in a buffer between octets that are not its own. */
function outcomeOf(read: Read, hex: string): { readonly fault: Http2Fault | null; readonly rest: string } {
  const payload = octets(hex);
  const bytes = Buffer.concat([octets('eeeeee'), payload, octets('eeee')]);
  const range = { start: 3, end: 3 + payload.length };
  const fault = read(bytes, range);
  return { fault, rest: hexOf(bytes.subarray(range.start, range.end)) };
}

const data =
  (flags: number, fieldBytes = 0): Read =>
  (bytes, range) =>
    stripPadding(bytes, flags, range, fieldBytes);
const headers =
  (flags: number): Read =>
  (bytes, range) =>
    readHeaders(bytes, flags, 3, range);
const priority: Read = (bytes, { start, end }) => checkPriority(bytes, start, end, 3);
const settings =
  (flags: number): Read =>
  (bytes, range) =>
    readSettings(bytes, range, flags, () => {});
const windowUpdate =
  (stream: number): Read =>
  (bytes, { start, end }) =>
    checkWindowUpdate(bytes, start, end, stream);
const lengthOf =
  (check: (start: number, end: number) => Http2Fault | null): Read =>
  (_, { start, end }) =>
    check(start, end);

const PADDED = FLAG.padded;
const BOTH = FLAG.padded | FLAG.priority;

const CASES: readonly [what: string, read: Read, payloads: readonly string[], outcome: Outcome][] = [
  ['DATA without PADDED is all content (6.1)', data(0), ['026162'], '026162'],
  ['DATA may be empty (6.1)', data(0), [''], ''],
  [
    'padding and its length are taken off, whatever its value (6.1)',
    data(PADDED),
    ['03 6162 000000', '01 6162 ff'],
    '6162',
  ],
  ['padding may be none (6.1)', data(PADDED), ['00 61'], '61'],
  ['padding may be all there is (6.1)', data(PADDED), ['02 0000', '00'], ''],
  ['PADDED without a pad length (4.2)', data(PADDED), [''], FRAME_SIZE_ERROR],
  [
    'padding as long as the payload or longer (6.1)',
    data(PADDED),
    ['01', '03 6100', 'ff 6100'],
    PROTOCOL_ERROR,
  ],
  ['padding behind the fields of the frame (6.2)', data(PADDED, 5), ['01 000000030f 82 00'], '000000030f82'],
  ['padding over the fields of the frame (6.2)', data(PADDED, 5), ['02 000000030f 82'], PROTOCOL_ERROR],
  ['a payload without room for its fields (4.2)', data(PADDED, 5), ['00 0000030f'], FRAME_SIZE_ERROR],

  ['HEADERS without flags is all fragment (6.2)', headers(FLAG.endHeaders), ['8286'], '8286'],
  ['a fragment may be empty (6.2)', headers(FLAG.endHeaders), [''], ''],
  ['a fragment may be empty behind priority (6.2)', headers(FLAG.priority), ['00000001 0f'], ''],
  ['padding of HEADERS is taken off (6.2)', headers(PADDED), ['02 8286 0000'], '8286'],
  [
    'priority is read past, exclusive or not (6.2)',
    headers(FLAG.priority),
    ['80000001 ff 82', '00000001 ff 82'],
    '82',
  ],
  ['the pad length stands before the priority (6.2)', headers(BOTH), ['01 00000000 0f 8286 00'], '8286'],
  ['priority that is cut short (4.2)', headers(FLAG.priority), ['00000001'], FRAME_SIZE_ERROR],
  ['priority that is cut short behind a pad length (4.2)', headers(BOTH), ['00 00000001'], FRAME_SIZE_ERROR],
  ['padding longer than the room for the fragment (6.2)', headers(PADDED), ['02 82'], PROTOCOL_ERROR],
  ['padding over the priority (6.2)', headers(BOTH), ['02 000000010f 82'], PROTOCOL_ERROR],
  [
    'HEADERS that depend on their own stream (RFC 7540, 5.3.1)',
    headers(FLAG.priority),
    ['00000003 0f 82'],
    OF_STREAM,
  ],

  ['PRIORITY (6.3)', priority, ['80000001 00'], '8000000100'],
  ['PRIORITY of another length than 5 (6.3)', priority, ['', '00000000', '000000000000'], SIZE_OF_STREAM],
  ['PRIORITY of a stream that depends on itself (RFC 7540, 5.3.1)', priority, ['80000003 0f'], OF_STREAM],

  ['PING of 8 octets (6.7)', lengthOf(checkPing), ['0102030405060708'], '0102030405060708'],
  [
    'PING of another length (6.7)',
    lengthOf(checkPing),
    ['', '01020304050607', '010203040506070809'],
    FRAME_SIZE_ERROR,
  ],
  ['GOAWAY of its two fields (6.8)', lengthOf(checkGoAway), ['0000000000000000'], '0000000000000000'],
  [
    'GOAWAY with a reason (6.8)',
    lengthOf(checkGoAway),
    ['0000000000000000 776879'],
    '0000000000000000776879',
  ],
  [
    'GOAWAY shorter than its two fields (4.2)',
    lengthOf(checkGoAway),
    ['', '00000000', '00000000000000'],
    FRAME_SIZE_ERROR,
  ],
  ['RST_STREAM of 4 octets (6.4)', lengthOf(checkRstStream), ['0000000b'], '0000000b'],
  [
    'RST_STREAM of another length (6.4)',
    lengthOf(checkRstStream),
    ['', '000000', '0000000000'],
    FRAME_SIZE_ERROR,
  ],

  ['WINDOW_UPDATE on a stream (6.9)', windowUpdate(3), ['7fffffff'], '7fffffff'],
  ['WINDOW_UPDATE on the connection (6.9)', windowUpdate(0), ['7fffffff'], '7fffffff'],
  [
    'WINDOW_UPDATE of another length on a stream (6.9)',
    windowUpdate(3),
    ['', '010101', '0101010101'],
    FRAME_SIZE_ERROR,
  ],
  [
    'WINDOW_UPDATE of another length on the connection (6.9)',
    windowUpdate(0),
    ['', '010101', '0101010101'],
    FRAME_SIZE_ERROR,
  ],
  ['an increment of 0 on the connection (6.9)', windowUpdate(0), ['00000000'], PROTOCOL_ERROR],
  [
    'an increment of 0 on a stream, beside the reserved bit (6.9)',
    windowUpdate(3),
    ['00000000', '80000000'],
    OF_STREAM,
  ],

  ['SETTINGS may be empty, also as an acknowledgement (6.5)', settings(FLAG.ack), [''], ''],
  ['SETTINGS without any parameter (6.5)', settings(0), [''], ''],
  [
    'a parameter of an unknown name, whatever its value (6.5.2)',
    settings(0),
    ['ffff ffffffff'],
    'ffffffffffff',
  ],
  ['an acknowledgement with a payload (6.5)', settings(FLAG.ack), ['0004 00000064'], FRAME_SIZE_ERROR],
  [
    'SETTINGS of a length that is no multiple of 6 (6.5)',
    settings(0),
    ['00', '0000000000', '00000000000000'],
    FRAME_SIZE_ERROR,
  ],
];

for (const [what, read, payloads, expected] of CASES) {
  t.test(`RFC 9113: ${what}`, async t => {
    for (const hex of payloads) {
      const { fault, rest } = outcomeOf(read, hex);
      if (typeof expected === 'string') t.same({ fault, rest }, { fault: null, rest: expected }, hex);
      else t.match(fault, expected, hex);
    }
  });
}

t.test(
  'the fragment of a stream that depends on itself is there, as the block has to be decoded',
  async t => {
    t.equal(outcomeOf(headers(FLAG.priority), '00000003 0f 82').rest, '82');
  },
);

t.test('SETTINGS are pairs of name and value, in their order (RFC 9113, 6.5.1)', async t => {
  const bytes = octets('0004 00000064  0006 ffffffff  0004 00000001');
  const pairs: [number, number][] = [];
  t.equal(
    readSettings(bytes, { start: 0, end: bytes.length }, 0, (name, value) => pairs.push([name, value])),
    null,
  );
  t.same(pairs, [
    [4, 100],
    [6, 0xffff_ffff],
    [4, 1],
  ]);
});

/** Values at the borders of what each parameter may be, and the error beyond them. */
const BORDERS: readonly [name: number, good: readonly number[], bad: readonly number[], error: Outcome][] = [
  [SETTING.headerTableSize, [0, 4_096, 0xffff_ffff], [], ''],
  [SETTING.enablePush, [0, 1], [2, 0xffff_ffff], PROTOCOL_ERROR],
  [SETTING.maxConcurrentStreams, [0, 0xffff_ffff], [], ''],
  [SETTING.initialWindowSize, [0, 65_535, 0x7fff_ffff], [0x8000_0000, 0xffff_ffff], FLOW_CONTROL_ERROR],
  [SETTING.maxFrameSize, [16_384, 16_777_215], [0, 16_383, 16_777_216, 0xffff_ffff], PROTOCOL_ERROR],
  [SETTING.maxHeaderListSize, [0, 0xffff_ffff], [], ''],
];

t.test('values out of their range are errors of the code that RFC 9113, 6.5.2 names', async t => {
  for (const [name, good, bad, error] of BORDERS) {
    const faultOf = (value: number) =>
      outcomeOf(settings(0), `000${name}${value.toString(16).padStart(8, '0')}`).fault;
    for (const value of good) t.equal(faultOf(value), null, `${name}: ${value}`);
    for (const value of bad) t.match(faultOf(value), error, `${name}: ${value}`);
  }
});
