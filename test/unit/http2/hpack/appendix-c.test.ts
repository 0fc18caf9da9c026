import t from 'tap';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import { EXAMPLES, type Example } from './appendix-c.ts';
import { decodeAll, decoderWith, encodeBlock, fieldsOf, hexOf, octets, sizeOf, tableOf } from './blocks.ts';

for (const { section, title, maxTableSize, steps } of EXAMPLES) {
  t.test(`RFC 7541, ${section}, is decoded: ${title}`, async t => {
    for (const [last, { fields, table, tableSize }] of steps.entries()) {
      const decoder = decoderWith({ maxTableSize });
      for (const { hex } of steps.slice(0, last)) decodeAll(decoder, octets(hex));
      const block = decodeAll(decoder, octets(steps[last].hex));
      t.same(fieldsOf(block), fields, `fields of block ${last + 1}`);
      t.equal(block.listBytes, sizeOf(fields));
      t.equal(block.tooLarge, false);
      const entries = tableOf(decoder);
      t.same(entries, table, `table after block ${last + 1}`);
      t.equal(sizeOf(entries), tableSize);
    }
  });
}

function exampleOf(section: string): Example {
  return EXAMPLES.find(example => example.section === section) as Example;
}

t.test('RFC 7541, C.4, is what the encoder writes when every field is indexed', async t => {
  const encoder = new HpackEncoder({ maxTableSize: 4096 });
  for (const { fields, hex } of exampleOf('C.4').steps)
    t.equal(hexOf(encodeBlock(encoder, fields, 'index')), hexOf(octets(hex)));
});

t.test(
  'RFC 7541, C.6, as well, except the size update and a code that is not shorter than its text',
  async t => {
    const encoder = new HpackEncoder({ maxTableSize: 256 });
    const [first, second, third] = exampleOf('C.6').steps;
    t.equal(hexOf(encodeBlock(encoder, first.fields, 'index')), `3fe101${hexOf(octets(first.hex))}`);
    t.equal(hexOf(encodeBlock(encoder, second.fields, 'index')), '4803333037c1c0bf');
    t.equal(hexOf(encodeBlock(encoder, third.fields, 'index')), hexOf(octets(third.hex)));
  },
);
