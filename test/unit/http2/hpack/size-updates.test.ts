import t from 'tap';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { decodeAll, decoderWith, encodeBlock, fieldsIn, fieldsOf, octets, tableOf } from './blocks.ts';

const UPDATE_TO_8192 = '3f e1 3f';

/** A literal with indexing whose entry counts 4049 octets: two of them do not fit into 4096. */
const LARGE_ENTRY = Buffer.concat([octets('40 01 61 7f b1 1e'), Buffer.alloc(4016, 0x62)]);

t.test('a limit above 4096 may be used once the peer says so', async t => {
  for (const [update, entries] of [
    ['', 1],
    [UPDATE_TO_8192, 2],
  ] as const) {
    const decoder = decoderWith({ maxTableSize: 8192 });
    fieldsIn(decoder, update);
    decodeAll(decoder, LARGE_ENTRY);
    decodeAll(decoder, LARGE_ENTRY);
    t.equal(tableOf(decoder).length, entries, `with the update "${update}"`);
  }
});

t.test('a table starts at no more than 4096, which a peer uses that has not heard of more', async t => {
  const decoder = decoderWith({ maxTableSize: 65_536 });
  decodeAll(decoder, LARGE_ENTRY);
  decodeAll(decoder, LARGE_ENTRY);
  t.equal(tableOf(decoder).length, 1);
});

t.test('encoder and decoder stay in step while the limit changes at random', async t => {
  const random = new SeededRandom(42);
  const encoder = new HpackEncoder({ maxTableSize: 6000 });
  const decoder = decoderWith({ maxTableSize: 6000 });
  for (let i = 0; i < 2000; i++) {
    for (let changes = random.below(4); changes > 1; changes--) {
      const size = random.pick([0, 50, 100, 500, 4096, 8192]);
      encoder.setPeerTableSize(size);
    }
    const fields = Array.from(
      { length: random.below(5) },
      (): HeaderField => [`n${random.below(9)}`, 'v'.repeat(random.below(90))],
    );
    t.same(fieldsOf(decodeAll(decoder, encodeBlock(encoder, fields, 'index'))), fields);
  }
});
