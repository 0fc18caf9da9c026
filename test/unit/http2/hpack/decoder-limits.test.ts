import t from 'tap';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import {
  decodeAll,
  decoderWith,
  encodeBlock,
  fieldsIn,
  fieldsOf,
  octets,
  sizeOf,
  tableOf,
} from './blocks.ts';

const FIELDS: readonly HeaderField[] = [
  ['a', '1'],
  ['b', '2'],
  ['c', '3'],
];

/** The three fields, 34 octets each by the rule of the setting. */
function blockOf(indexing: 'index' | 'plain'): Uint8Array {
  return encodeBlock(new HpackEncoder({ maxTableSize: 4096 }), FIELDS, indexing);
}

t.test('a list of exactly the limits is whole', async t => {
  const block = decodeAll(decoderWith({ maxListBytes: 102, maxFields: 3 }), blockOf('plain'));
  t.same(fieldsOf(block), FIELDS);
  t.equal(block.listBytes, 102);
  t.equal(block.tooLarge, false);
});

t.test('one octet more is too large: what came before is kept, and all is counted', async t => {
  for (const indexing of ['index', 'plain'] as const) {
    const block = decodeAll(decoderWith({ maxListBytes: 101 }), blockOf(indexing));
    t.same(fieldsOf(block), FIELDS.slice(0, 2));
    t.equal(block.listBytes, 102);
    t.equal(block.tooLarge, true);
  }
});

t.test('one field more is too large as well', async t => {
  const block = decodeAll(decoderWith({ maxFields: 2 }), blockOf('plain'));
  t.same(fieldsOf(block), FIELDS.slice(0, 2));
  t.equal(block.listBytes, 102);
  t.equal(block.tooLarge, true);
});

t.test('a small field behind one that was too large is not kept either', async t => {
  const fields: HeaderField[] = [
    ['a', 'x'.repeat(100)],
    ['b', '2'],
  ];
  const bytes = encodeBlock(new HpackEncoder({ maxTableSize: 4096 }), fields, 'plain');
  t.same(fieldsOf(decodeAll(decoderWith({ maxListBytes: 50 }), bytes)), []);
});

t.test('the table follows a list that is too large', async t => {
  const decoder = decoderWith({ maxListBytes: 40 });
  t.equal(decodeAll(decoder, blockOf('index')).tooLarge, true);
  t.same(
    fieldsIn(decoder, 'be'),
    [['c', '3']],
    'the next block refers to an entry that was not kept in the list',
  );
  t.same(tableOf(decoder), [...FIELDS].reverse());
});

t.test('what is beyond the limits is checked all the same', async t => {
  for (const { hex, section } of [
    { hex: '82 82 80', section: '6.1' },
    { hex: '82 82 ff ff', section: '5.1' },
    { hex: '82 82 00 01 61 82 1f ff', section: '5.2' },
    { hex: '82 82 00 81 18 01 61', section: '5.2' },
    { hex: '82 82 00 01 61 05 61', section: '5.2' },
  ])
    t.throws(() => fieldsIn(decoderWith({ maxFields: 1 }), hex), { name: 'HpackFault', section });
});

t.test('the next list starts from nothing', async t => {
  const decoder = decoderWith({ maxListBytes: 101 });
  t.equal(decodeAll(decoder, blockOf('plain')).tooLarge, true);
  const next = decodeAll(decoder, octets('82'));
  t.same([next.tooLarge, next.listBytes, next.names.length], [false, sizeOf([[':method', 'GET']]), 1]);
});

t.test('an HPACK bomb is counted and not unpacked', async t => {
  const decoder = decoderWith({ maxListBytes: 8192, maxFields: 100 });
  // An entry of 4000 octets, then sixty thousand references to it: 240 MB by the rule of the setting.
  const entry = Buffer.concat([octets('40 01 61 7f 80 1e'), Buffer.alloc(3967, 0x62)]);
  decodeAll(decoder, entry);
  const block = decodeAll(decoder, Buffer.alloc(60_000, 0xbe));
  t.equal(block.listBytes, 240_000_000);
  t.equal(block.tooLarge, true);
  t.equal(block.names.length, 2);
  t.equal(block.values[0], block.values[1], 'references share the string of the entry');
});

t.test('many small fields stop at the number of fields', async t => {
  const block = decodeAll(decoderWith({ maxFields: 100 }), Buffer.alloc(60_000, 0x82));
  t.equal(block.names.length, 100);
  t.equal(block.listBytes, 60_000 * 42);
});

t.test('a long string is decoded whole when the limit allows it, raw or coded', async t => {
  const text = 'a~\xff'.repeat(30_000);
  const field: HeaderField = ['x', text];
  const coded: HeaderField = ['x', 'aeiost'.repeat(30_000)];
  const bytes = encodeBlock(new HpackEncoder({ maxTableSize: 0 }), [field, coded], 'plain');
  t.ok(bytes.length < text.length + 180_000, 'the second one is Huffman coded');
  t.same(fieldsOf(decodeAll(decoderWith(), bytes)), [field, coded]);
});
