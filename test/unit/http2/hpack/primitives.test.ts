import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import {
  BlockCursor,
  HpackFault,
  readInteger,
  writeInteger,
} from '../../../../src/http2/hpack/primitives.ts';
import { hexOf, octets } from './blocks.ts';

function cursorAt(bytes: Uint8Array, position: number): BlockCursor {
  const cursor = new BlockCursor();
  cursor.open(bytes, position, bytes.length);
  return cursor;
}

function written(pattern: number, prefix: number, value: number): Uint8Array {
  const to = new ByteWriter();
  writeInteger(to, pattern, prefix, value);
  return to.take();
}

const EXAMPLES = [
  { section: 'C.1.1', value: 10, prefix: 0x1f, hex: '0a' },
  { section: 'C.1.2', value: 1337, prefix: 0x1f, hex: '1f 9a 0a' },
  { section: 'C.1.3', value: 42, prefix: 0xff, hex: '2a' },
];

for (const { section, value, prefix, hex } of EXAMPLES) {
  t.test(`the example of RFC 7541, ${section}, is read and written`, async t => {
    t.equal(hexOf(written(0, prefix, value)), hexOf(octets(hex)));
    t.equal(readInteger(cursorAt(octets(hex), 0), prefix), value);
  });
}

t.test('the bits above the prefix are no part of the value', async t => {
  t.equal(readInteger(cursorAt(octets('ea'), 0), 0x1f), 10);
  t.equal(readInteger(cursorAt(octets('ff 9a 0a'), 0), 0x1f), 1337);
  t.equal(hexOf(written(0xe0, 0x1f, 1337)), 'ff9a0a');
});

t.test('every prefix holds every value around its own bounds, and the cursor stops behind it', async t => {
  for (let bits = 1; bits <= 8; bits++) {
    const prefix = 2 ** bits - 1;
    const values = [0, 1, prefix - 1, prefix, prefix + 1, prefix + 127, prefix + 128, prefix + 16_383];
    for (const value of [...values, prefix + 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const bytes = Buffer.concat([Buffer.of(0xaa), written(0, prefix, value), Buffer.of(0xaa)]);
      const cursor = cursorAt(bytes, 1);
      t.equal(readInteger(cursor, prefix), value, `${value} with ${bits} bits`);
      t.equal(cursor.position, bytes.length - 1);
    }
  }
});

t.test('zeros behind the highest digit are read, as the RFC allows', async t => {
  t.equal(readInteger(cursorAt(octets('1f 8a 80 80 80 00'), 0), 0x1f), 41);
});

const FAULTS = [
  { hex: '1f', text: /the block ends inside/ },
  { hex: '1f 9a', text: /the block ends inside/ },
  { hex: '1f ff ff ff ff', text: /the block ends inside/ },
  { hex: '1f e1 ff ff ff 0f', text: /above 2\^32 - 1/ },
  { hex: '1f ff ff ff ff 7f', text: /above 2\^32 - 1/ },
  { hex: '1f 80 80 80 80 80 00', text: /longer than 6 octets/ },
  { hex: '1f ff ff ff ff ff ff ff ff ff ff', text: /longer than 6 octets/ },
];

for (const { hex, text } of FAULTS) {
  t.test(`${hex} is no integer`, async t => {
    t.throws(() => readInteger(cursorAt(octets(hex), 0), 0x1f), { name: 'HpackFault', section: '5.1' });
    t.throws(() => readInteger(cursorAt(octets(hex), 0), 0x1f), text);
  });
}

t.test('2^32 - 1 is the highest integer', async t => {
  t.equal(readInteger(cursorAt(octets('1f e0 ff ff ff 0f'), 0), 0x1f), 2 ** 32 - 1);
});

t.test('a fault says where in the block the integer begins', async t => {
  const cursor = cursorAt(octets('00 00 00 1f'), 1);
  cursor.position = 3;
  t.throws(() => readInteger(cursor, 0x1f), new HpackFault('5.1', 'the block ends inside an integer', 2));
});
