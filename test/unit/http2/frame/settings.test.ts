import t from 'tap';
import {
  readSettings,
  SETTING,
  writeSettings,
  writeSettingsAck,
} from '../../../../src/http2/frame/control.ts';
import { FLAG } from '../../../../src/http2/frame/frame.ts';
import { octets, placed, written } from './octets.ts';

/** The parameters of a SETTINGS payload up to the first that is wrong, and what is wrong. */
function read(payload: Uint8Array, flags = 0) {
  const { bytes, range } = placed(payload);
  const settings: [number, number][] = [];
  const fault = readSettings(bytes, range, flags, (name, value) => settings.push([name, value]));
  return { settings, fault };
}

t.test('parameters have the numbers of RFC 9113, 6.5.2', async t => {
  t.same(SETTING, {
    headerTableSize: 1,
    enablePush: 2,
    maxConcurrentStreams: 3,
    initialWindowSize: 4,
    maxFrameSize: 5,
    maxHeaderListSize: 6,
  });
});

t.test('SETTINGS are pairs of name and value, in their order (RFC 9113, 6.5.1)', async t => {
  const payload = octets(
    [0x00, 0x04], //             INITIAL_WINDOW_SIZE
    [0x00, 0x00, 0x00, 0x64], // 100
    [0x00, 0x06], //             MAX_HEADER_LIST_SIZE
    [0xff, 0xff, 0xff, 0xff], // 2^32 - 1: without a limit
    [0x00, 0x04], //             INITIAL_WINDOW_SIZE again
    [0x00, 0x00, 0x00, 0x01], // 1
  );
  t.same(read(payload), {
    settings: [
      [4, 100],
      [6, 0xffff_ffff],
      [4, 1],
    ],
    fault: null,
  });
});

t.test('SETTINGS may be empty (RFC 9113, 6.5)', async t => {
  t.same(read(octets()), { settings: [], fault: null });
});

t.test('parameters of unknown names are no fault, whatever their value (RFC 9113, 6.5.2)', async t => {
  t.equal(read(octets([0xff, 0xff], [0xff, 0xff, 0xff, 0xff])).fault, null);
});

t.test('an acknowledgement is empty; else it is a FRAME_SIZE_ERROR (RFC 9113, 6.5)', async t => {
  t.same(read(octets(), FLAG.ack), { settings: [], fault: null });
  t.match(read(octets([0x00, 0x04], [0x00, 0x00, 0x00, 0x64]), FLAG.ack), {
    settings: [],
    fault: { scope: 'connection', code: 6 },
  });
});

t.test('a length that is not a multiple of 6 is a FRAME_SIZE_ERROR (RFC 9113, 6.5)', async t => {
  for (const length of [1, 5, 7, 13])
    t.match(read(new Uint8Array(length)), { settings: [], fault: { scope: 'connection', code: 6 } });
});

/** Values at the borders of what each parameter may be, and the code of the error beyond them. */
const BORDERS: readonly [name: number, good: readonly number[], bad: readonly number[], code: number][] = [
  [SETTING.headerTableSize, [0, 4_096, 0xffff_ffff], [], 0],
  [SETTING.enablePush, [0, 1], [2, 0xffff_ffff], 1],
  [SETTING.maxConcurrentStreams, [0, 0xffff_ffff], [], 0],
  [SETTING.initialWindowSize, [0, 65_535, 0x7fff_ffff], [0x8000_0000, 0xffff_ffff], 3],
  [SETTING.maxFrameSize, [16_384, 16_777_215], [0, 16_383, 16_777_216, 0xffff_ffff], 1],
  [SETTING.maxHeaderListSize, [0, 0xffff_ffff], [], 0],
];

t.test('values out of their range are errors of the code that RFC 9113, 6.5.2 names', async t => {
  for (const [name, good, bad, code] of BORDERS) {
    const payload = (value: number) => written(to => writeSettings(to, [[name, value]])).subarray(9);
    for (const value of good) t.equal(read(payload(value)).fault, null, `${name}: ${value}`);
    for (const value of bad)
      t.match(read(payload(value)).fault, { scope: 'connection', code }, `${name}: ${value}`);
  }
});

t.test('SETTINGS are written in their order (RFC 9113, 6.5)', async t => {
  t.same(
    written(to =>
      writeSettings(to, [
        [SETTING.maxConcurrentStreams, 1_000],
        [0x0102, 0xffff_ffff],
      ]),
    ),
    octets(
      [0x00, 0x00, 0x0c], //       length 12
      [0x04], //                   type SETTINGS
      [0x00], //                   no flags
      [0x00, 0x00, 0x00, 0x00], // stream 0
      [0x00, 0x03], //             MAX_CONCURRENT_STREAMS
      [0x00, 0x00, 0x03, 0xe8], // 1,000
      [0x01, 0x02], //             258
      [0xff, 0xff, 0xff, 0xff], // 2^32 - 1
    ),
  );
});

t.test('an acknowledgement is written without parameters (RFC 9113, 6.5)', async t => {
  t.same(
    written(to => writeSettingsAck(to)),
    octets(
      [0x00, 0x00, 0x00], //       length 0
      [0x04], //                   type SETTINGS
      [0x01], //                   flags ACK
      [0x00, 0x00, 0x00, 0x00], // stream 0
    ),
  );
});
