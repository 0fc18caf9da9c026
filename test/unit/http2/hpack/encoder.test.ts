import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { type HeaderField, preencode } from '../../../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { decodeAll, decoderWith, fieldsOf, hexOf, octets } from './blocks.ts';

/** Fields, and the shortest form that needs no dynamic table. */
const FIELDS: readonly [what: string, field: HeaderField, hex: string][] = [
  ['a field of the static table', [':status', '200'], '88'],
  ['the last entry of the static table', ['www-authenticate', ''], 'bd'],
  ['a value that the static table has not', [':status', '418'], '08 03 343138'],
  [
    'a static name whose index does not fit four bits',
    ['content-type', 'application/grpc'],
    '0f 10 8b 1d75d0620d263d4c4d6564',
  ],
  ['a name of its own', ['te', 'x'], '00 02 7465 01 78'],
  ['an empty value', ['te', ''], '00 02 7465 00'],
  ['a value that is shorter coded', ['te', 'aaa'], '00 02 7465 82 18c7'],
  ['a value that is as long coded', ['te', '307'], '00 02 7465 03 333037'],
  ['a value that is longer coded', ['te', '\xff\x00'], '00 02 7465 02 ff00'],
];

for (const [what, field, hex] of FIELDS) {
  t.test(`${what} is written in the shortest form, and decoded`, async t => {
    const bytes = preencode([field]);
    t.equal(hexOf(bytes), hexOf(octets(hex)));
    t.same(fieldsOf(decodeAll(decoderWith(), bytes)), [field]);
  });
}

t.test('no fields are no octets', async t => t.equal(preencode([]).length, 0));

t.test('a character above U+00FF is refused with its position', async t => {
  t.throws(() => preencode([['x', 'a\u010a']]), {
    name: 'TypeError',
    message: 'character 1 of a header name or value is not an octet; encode the text first',
  });
  t.throws(() => preencode([['\u{1f600}', '']]), TypeError);
  t.same(fieldsOf(decodeAll(decoderWith(), preencode([['x', '\u00ff']]))), [['x', '\u00ff']]);
});

const RESPONSE: readonly HeaderField[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
  ['grpc-status', '0'],
];

t.test('pre-encoded fields mean the same in any block, whatever the table holds', async t => {
  const constant = preencode(RESPONSE);
  const encoder = new HpackEncoder({ maxTableSize: 4096 });
  const decoder = decoderWith();
  for (const value of ['1', '2', '1', '3']) {
    const to = new ByteWriter();
    encoder.startBlock(to);
    encoder.field(to, 'x', value, 'index');
    to.copy(constant, 0, constant.length);
    encoder.field(to, 'x', value, 'index');
    t.same(fieldsOf(decodeAll(decoder, to.take())), [['x', value], ...RESPONSE, ['x', value]]);
  }
});

t.test(
  'random lists come back from our decoder, however they are indexed and whatever the table size',
  async t => {
    const random = new SeededRandom(9113);
    const octet = () => String.fromCharCode(random.below(256));
    const text = (length: number) => Array.from({ length: random.below(length) }, octet).join('');
    const names = ['content-type', ':status', 'x-a', 'x-b', ...Array.from({ length: 20 }, () => text(12))];
    for (const size of [0, 64, 300, 4096]) {
      const encoder = new HpackEncoder({ maxTableSize: size });
      const decoder = decoderWith();
      const values = Array.from({ length: 30 }, () => text(80));
      for (let i = 0; i < 200; i++) {
        if (random.below(4) === 0) encoder.setPeerTableSize(random.pick([0, 50, 100, 500, 4096, 8192]));
        const fields = Array.from(
          { length: random.below(10) },
          (): HeaderField => [random.pick(names), random.pick(values)],
        );
        const to = new ByteWriter();
        encoder.startBlock(to);
        for (const [name, value] of fields)
          encoder.field(to, name, value, random.pick(['index', 'index', 'plain', 'never'] as const));
        t.same(fieldsOf(decodeAll(decoder, to.take())), fields);
      }
    }
  },
);
