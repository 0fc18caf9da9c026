import t from 'tap';
import { MsgpackReader } from '../../../../src/clients/redis/msgpack-reader.ts';
import { startRedis } from '../../../support/redis-server.ts';

const server = await startRedis();
t.teardown(() => server.stop());

/** What Redis packs of a Lua expression, in hex: bytes that are no text do not survive the way here. */
async function packed(expression: string): Promise<Buffer> {
  const script = `local hex = string.gsub(cmsgpack.pack(${expression}), '.', function(c)
    return string.format('%02x', string.byte(c))
  end) return hex`;
  return Buffer.from(String(await server.command('EVAL', script, 0)), 'hex');
}

const NUMBERS = [
  ...[0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, 1_767_225_600_123],
  ...[Number.MAX_SAFE_INTEGER, -1, -32, -33, -128, -129, -32_768, -32_769, -2_147_483_648, -2_147_483_649],
  ...[-Number.MAX_SAFE_INTEGER, 0.5, -0.25, 0.1, 1 / 3, 99.99999999999999, 5e-324, Number.MAX_VALUE],
];

t.test('numbers come back as they were, to the last bit', async t => {
  for (const number of NUMBERS) {
    // Lua reads what JavaScript writes, exactly.
    t.equal(new MsgpackReader(await packed(String(number))).value(), number, String(number));
  }
});

t.test('texts of every length come back', async t => {
  for (const length of [0, 31, 32, 255, 256, 65_535, 65_536]) {
    t.equal(new MsgpackReader(await packed(`string.rep('x', ${length})`)).value(), 'x'.repeat(length));
  }
  t.equal(new MsgpackReader(await packed(`'naïve 日本 😀'`)).value(), 'naïve 日本 😀');
});

t.test('so do arrays, and arrays in them; the empty one too', async t => {
  t.same(new MsgpackReader(await packed('{ 1, false, true, { "a", {} } }')).value(), [
    1,
    false,
    true,
    ['a', []],
  ]);
  const long = new MsgpackReader(await packed('{ 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 }')).values();
  t.same(
    long,
    Array.from({ length: 17 }, (_, i) => i + 1),
  );
});

t.test('a text can be had as bytes, or be absent', async t => {
  const reader = new MsgpackReader(await packed('{ "abc", false }'));
  t.equal(reader.array(), 2);
  t.same(reader.bytes(), Buffer.from('abc'));
  t.equal(reader.value(), false);
});

t.test('what is something else is refused', async t => {
  t.throws(
    () => new MsgpackReader(Buffer.from([0x01])).array(),
    /begins with byte 1, where an array belongs/,
  );
  t.throws(() => new MsgpackReader(Buffer.from([0x90])).bytes(), /where a text belongs/);
});
