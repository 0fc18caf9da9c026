import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { WIRE, WireReader, writeBytes, writeTag, writeText, writeUint } from '../../../src/messages/wire.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { fixed, message, number, varint } from './wire-bytes.ts';

/** A reader of the bytes, which lie somewhere inside a larger memory. */
function reading(...parts: Uint8Array[]): WireReader {
  const bytes = Buffer.concat(parts);
  const around = Buffer.concat([Buffer.alloc(7, 0xff), bytes, Buffer.alloc(20, 0x01)]);
  const reader = new WireReader();
  reader.open(around, 7, 7 + bytes.length);
  return reader;
}

/** A reader that stands behind the tag of the first field. */
function within(...parts: Uint8Array[]): WireReader {
  const reader = reading(...parts);
  reader.next();
  return reader;
}

const refused = (text: string) => ({ name: 'WireFault', message: text });

t.test('tags are read into field and wire type', async t => {
  for (const field of [1, 15, 16, 2_047, 2_048, 2 ** 29 - 1]) {
    for (const wireType of [0, 1, 2, 3, 4, 5]) {
      const reader = reading(varint(field * 8 + wireType));
      t.ok(reader.next());
      t.strictSame([reader.field, reader.wireType], [field, wireType]);
      t.notOk(reader.next(), 'nothing follows');
    }
  }
});

t.test('field numbers that do not exist are refused', async t => {
  const text = 'field number 0 or above 2^29 - 1 at byte 0';
  for (const tag of [0, 7, 2 ** 32, 2 ** 35 + 8]) t.throws(() => reading(varint(tag)).next(), refused(text));
});

t.test('numbers are read at 32 and at 64 bits', async t => {
  const values = [0n, 1n, 127n, 128n, 16_383n, 16_384n, 2n ** 28n - 1n, 2n ** 28n, 2n ** 31n, 2n ** 32n - 1n];
  const large = [
    2n ** 32n,
    2n ** 35n - 1n,
    2n ** 42n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 56n,
    2n ** 63n,
    2n ** 64n - 1n,
  ];
  for (const value of [...values, ...large]) {
    t.equal(within(number(1, value)).uint32(), Number(value & 0xffff_ffffn), `${value} in 32 bits`);
    const exact = value < 2n ** 53n ? Number(value) : Number.MAX_SAFE_INTEGER;
    t.equal(within(number(1, value)).uint64(), exact, `${value} in 64 bits`);
  }
});

t.test('a number may be written in up to ten bytes, whatever it is', async t => {
  for (let bytes = 1; bytes <= 10; bytes++) {
    const reader = within(number(1, 5, bytes), number(2, 6));
    t.equal(reader.uint64(), 5, `${bytes} bytes`);
    t.ok(reader.next());
    t.equal(reader.uint32(), 6, 'the next field is where it should be');
  }
  t.throws(() => within(number(1, 5, 11)).uint64(), refused('varint longer than ten bytes at byte 1'));
});

t.test('a number without an end is refused, wherever it stops', async t => {
  const bytes = number(1, 2n ** 64n - 1n);
  for (let length = 1; length < bytes.length; length++) {
    const cut = bytes.subarray(0, length);
    t.throws(() => within(cut).uint64(), refused('incomplete varint at byte 1'));
    t.throws(() => within(cut).skip(), refused('incomplete varint at byte 1'));
  }
  t.throws(() => reading(Buffer.of(0x80)).next(), refused('incomplete varint at byte 0'));
});

t.test('a value of another wire type is refused and named', async t => {
  t.throws(() => within(message(3, 'x')).uint32(), refused('field 3 has wire type 2, not 0 at byte 1'));
  t.throws(() => within(fixed(3, 8)).uint64(), refused('field 3 has wire type 1, not 0 at byte 1'));
  t.throws(() => within(number(3, 1)).delimited(), refused('field 3 has wire type 0, not 2 at byte 1'));
  t.throws(() => within(number(3, 1)).text(), refused('field 3 has wire type 0, not 2 at byte 1'));
});

t.test('bytes and texts are read where they lie', async t => {
  const reader = within(message(1, 'ü日'), message(2, ''), message(3, 'x'));
  t.equal(reader.text(), 'ü日');
  t.ok(reader.next());
  t.equal(reader.view().length, 0);
  t.ok(reader.next());
  t.equal(reader.delimited() - reader.position, 1);
});

t.test('a field that is longer than its message is refused, however long it says it is', async t => {
  const text = 'field 1 is longer than the message at byte 1';
  for (const length of [1n, 4n, 21n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n]) {
    for (const pass of ['skip', 'view'] as const)
      t.throws(() => within(varint(10), varint(length))[pass](), refused(text), `${pass} ${length}`);
  }
  t.throws(() => within(fixed(1, 8).subarray(0, 8)).skip(), refused(text));
  t.throws(() => within(fixed(1, 4).subarray(0, 4)).skip(), refused(text));
});

t.test('every wire type can be passed over, groups with all that is in them', async t => {
  const inner = Buffer.concat([varint(7 * 8 + 3), message(8, 'deep'), varint(7 * 8 + 4)]);
  const group = Buffer.concat([varint(6 * 8 + 3), number(1, 1), inner, varint(6 * 8 + 4)]);
  const parts = [number(1, 300), fixed(2, 8), message(3, 'abc'), fixed(4, 4), group, number(5, 9)];
  const reader = reading(...parts);
  const fields: number[] = [];
  while (reader.next()) {
    fields.push(reader.field);
    reader.skip();
  }
  t.strictSame(fields, [1, 2, 3, 4, 6, 5]);
  for (const wireType of [4, 6, 7]) {
    const expected = refused(`field 9 has the invalid wire type ${wireType} at byte 1`);
    t.throws(() => within(varint(9 * 8 + wireType)).skip(), expected);
  }
});

t.test('a group that does not end, ends another, or nests without end is refused', async t => {
  const begin = varint(6 * 8 + 3);
  const unended = Buffer.concat([begin, number(1, 1)]);
  t.throws(() => within(unended).skip(), refused('group field 6 has no end at byte 1'));
  const crossed = Buffer.concat([begin, varint(7 * 8 + 4)]);
  t.throws(() => within(crossed).skip(), refused('field 7 ends a group of another field at byte 1'));
  t.throws(
    () => within(Buffer.concat(Array(100_000).fill(begin))).skip(),
    refused('groups nested more than 32 levels deep at byte 1'),
  );
});

t.test('what is written is what the format says', async t => {
  const written = (write: (to: ByteWriter) => void): string => {
    const writer = new ByteWriter(1);
    write(writer);
    return Buffer.from(writer.take()).toString('hex');
  };
  const hex = (bytes: Buffer): string => bytes.toString('hex');
  t.equal(
    written(to => writeTag(to, 2 ** 29 - 1, WIRE.fixed32)),
    hex(varint((2 ** 29 - 1) * 8 + 5)),
  );
  t.equal(
    written(to => writeUint(to, 1, 0)),
    '',
    'zero is left out',
  );
  t.equal(
    written(to => writeText(to, 1, '')),
    '',
    'and so is the empty text',
  );
  t.equal(
    written(to => writeBytes(to, 1, new Uint8Array(0))),
    hex(message(1)),
    'empty bytes are not',
  );
  t.equal(
    written(to => writeText(to, 16, 'ü'.repeat(100))),
    hex(message(16, 'ü'.repeat(100))),
  );
  const random = new SeededRandom(3);
  for (let i = 0; i < 2_000; i++) {
    const value = Math.floor(random.next() * 2 ** random.below(54)) + 1;
    const field = 1 + random.below(2 ** 29 - 1);
    const found = written(to => writeUint(to, field, value));
    if (found !== hex(number(field, value)))
      t.equal(found, hex(number(field, value)), `${value} in field ${field}`);
  }
});
