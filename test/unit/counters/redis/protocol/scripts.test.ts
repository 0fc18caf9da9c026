import t from 'tap';
import { readScriptReply } from '../../../../../src/counters/redis/protocol/scripts.ts';

/** MessagePack of an array, written by hand. */
function packed(...bytes: number[]): Buffer {
  return Buffer.from(bytes);
}

t.test('a plain reply has numbers, null where there is none, and the first error', async t => {
  t.same(readScriptReply([1, null, 9, null], 3), { numbers: Float64Array.of(1, Number.NaN, 9), failure: '' });
  t.equal(readScriptReply([null, Buffer.from('WRONGTYPE x')], 1)?.failure, 'WRONGTYPE x');
});

t.test('a packed reply says the same in any size of number', async t => {
  const numbers: [number, number[]][] = [
    [0, [0]],
    [127, [0x7f]],
    [-1, [0xff]],
    [-32, [0xe0]],
    [200, [0xcc, 200]],
    [65_535, [0xcd, 255, 255]],
    [4_294_967_295, [0xce, 255, 255, 255, 255]],
    [2 ** 40, [0xcf, 0, 0, 1, 0, 0, 0, 0, 0]],
    [-128, [0xd0, 0x80]],
    [-32_768, [0xd1, 0x80, 0]],
    [-2_147_483_648, [0xd2, 0x80, 0, 0, 0]],
    [-(2 ** 40), [0xd3, 255, 255, 255, 0, 0, 0, 0, 0]],
    [1.5, [0xca, 0x3f, 0xc0, 0, 0]],
    [2 ** 70, [0xcb, 0x44, 0x50, 0, 0, 0, 0, 0, 0]],
    [Number.NaN, [0xc2]],
  ];
  for (const [number, bytes] of numbers) {
    const reply = readScriptReply(packed(0x92, ...bytes, 0xc2), 1);
    t.same(reply, { numbers: Float64Array.of(number), failure: '' }, String(number));
  }
});

t.test('arrays and texts of any length', async t => {
  const zeros = new Array<number>(20).fill(0);
  t.equal(readScriptReply(packed(0xdc, 0, 21, ...zeros, 0xc2), 20)?.numbers.length, 20);
  t.equal(readScriptReply(packed(0xdd, 0, 0, 0, 21, ...zeros, 0xc2), 20)?.numbers.length, 20);
  const long = Buffer.alloc(70_000, 'x');
  for (const [head, text] of [
    [[0xa2], 'no'],
    [[0xd9, 2], 'no'],
    [[0xda, 0, 2], 'no'],
    [[0xdb, 0, 1, 0x11, 0x70], long.toString()],
  ] as const) {
    const reply = Buffer.concat([packed(0x92, 0xc2, ...head), Buffer.from(text)]);
    t.equal(readScriptReply(reply, 1)?.failure, text);
  }
});

t.test('an old Redis names the place in the script first, which is left out', async t => {
  const error = "@user_script: 6: -READONLY You can't write against a read only replica.\r\n";
  t.equal(
    readScriptReply([null, error], 1)?.failure,
    "READONLY You can't write against a read only replica.",
  );
  const bytes = Buffer.concat([packed(0x92, 0xc2, 0xd9, error.length), Buffer.from(error)]);
  t.match(readScriptReply(bytes, 1)?.failure, /^READONLY .*replica\.$/);
});

t.test('what is something else is no reply', async t => {
  for (const reply of [null, 'OK', 7, [1], [1, 2, null], packed(), packed(0x91, 0xc2), packed(0xc2)]) {
    t.equal(readScriptReply(reply, 1), null);
  }
  t.equal(readScriptReply(packed(0x92, 0xcd, 1), 1), null, 'nor is one that was cut off');
});
