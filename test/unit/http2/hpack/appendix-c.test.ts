import t from 'tap';
import { EXAMPLES } from './appendix-c.ts';
import { decodeAll, decoderWith, fieldsOf, octets, sizeOf, tableOf } from './blocks.ts';

for (const { section, title, tableSize, steps } of EXAMPLES) {
  t.test(`RFC 7541, ${section}, is decoded: ${title}`, async t => {
    for (const [last, { fields, table, size }] of steps.entries()) {
      const decoder = decoderWith({ tableSize });
      for (const { hex } of steps.slice(0, last)) decodeAll(decoder, octets(hex));
      const block = decodeAll(decoder, octets(steps[last].hex));
      t.same(fieldsOf(block), fields, `fields of block ${last + 1}`);
      t.equal(block.listBytes, sizeOf(fields));
      t.equal(block.tooLarge, false);
      const entries = tableOf(decoder);
      t.same(entries, table, `table after block ${last + 1}`);
      t.equal(sizeOf(entries), size);
    }
  });
}
