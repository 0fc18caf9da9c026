import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { type HeaderField, preencode } from '../../../../src/http2/hpack/encoder.ts';
import { HpackEncoder, type Indexing } from '../../../support/hpack-encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { decodeAll, decoderWith, encodeBlock, fieldsOf, hexOf, octets } from './blocks.ts';

function encoderWith(maxTableSize = 4096): HpackEncoder {
  return new HpackEncoder({ maxTableSize });
}

interface Written {
  readonly what: string;
  readonly field: HeaderField;
  readonly indexing: Indexing;
  readonly hex: string;
}

const FIRST_FIELDS: readonly Written[] = [
  { what: 'a field of the static table', field: [':status', '200'], indexing: 'plain', hex: '88' },
  { what: 'the same to be indexed', field: [':status', '200'], indexing: 'index', hex: '88' },
  {
    what: 'the last entry of the static table',
    field: ['www-authenticate', ''],
    indexing: 'plain',
    hex: 'bd',
  },
  {
    what: 'a value that the static table has not',
    field: [':status', '418'],
    indexing: 'plain',
    hex: '08 03 343138',
  },
  { what: 'the same to be indexed', field: [':status', '418'], indexing: 'index', hex: '48 03 343138' },
  { what: 'the same never to be indexed', field: [':status', '418'], indexing: 'never', hex: '18 03 343138' },
  {
    what: 'a static name whose index does not fit four bits',
    field: ['content-type', 'application/grpc'],
    indexing: 'plain',
    hex: '0f 10 8b 1d75d0620d263d4c4d6564',
  },
  {
    what: 'the same in six bits',
    field: ['content-type', 'application/grpc'],
    indexing: 'index',
    hex: '5f 8b 1d75d0620d263d4c4d6564',
  },
  { what: 'a secret', field: ['authorization', 'secret'], indexing: 'never', hex: '1f 08 84 41496153' },
  {
    what: 'a secret that the static table happens to have',
    field: [':method', 'GET'],
    indexing: 'never',
    hex: '12 03 474554',
  },
  { what: 'a name of its own', field: ['te', 'x'], indexing: 'plain', hex: '00 02 7465 01 78' },
  { what: 'the same to be indexed', field: ['te', 'x'], indexing: 'index', hex: '40 02 7465 01 78' },
  { what: 'the same never to be indexed', field: ['te', 'x'], indexing: 'never', hex: '10 02 7465 01 78' },
  { what: 'an empty value', field: ['te', ''], indexing: 'plain', hex: '00 02 7465 00' },
  {
    what: 'a value that is shorter coded',
    field: ['te', 'aaa'],
    indexing: 'plain',
    hex: '00 02 7465 82 18c7',
  },
  {
    what: 'a value that is as long coded',
    field: ['te', '307'],
    indexing: 'plain',
    hex: '00 02 7465 03 333037',
  },
  {
    what: 'a value that is longer coded',
    field: ['te', '\xff\x00'],
    indexing: 'plain',
    hex: '00 02 7465 02 ff00',
  },
];

for (const { what, field, indexing, hex } of FIRST_FIELDS) {
  t.test(`${what} (${indexing}) is written in the shortest form that its indexing allows`, async t => {
    const bytes = encodeBlock(encoderWith(), [field], indexing);
    t.equal(hexOf(bytes), hexOf(octets(hex)));
    t.same(fieldsOf(decodeAll(decoderWith(), bytes)), [field]);
  });
}

t.test('an indexed field is a reference the next time, and its name one at once', async t => {
  const encoder = encoderWith();
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), '4001780131');
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), 'be');
  t.equal(hexOf(encodeBlock(encoder, [['x', '2']], 'index')), '7e0132');
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), 'bf');
});

t.test('plain and never-indexed fields neither use the dynamic table nor enter it', async t => {
  const encoder = encoderWith();
  encodeBlock(encoder, [['x', '1']], 'index');
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'plain')), '0001780131');
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'never')), '1001780131');
  encodeBlock(encoder, [['y', '1']], 'plain');
  encodeBlock(encoder, [['y', '1']], 'never');
  t.equal(hexOf(encodeBlock(encoder, [['y', '1']], 'index')), '4001790131');
});

t.test('a field that is too large for the table is sent plainly and evicts nothing', async t => {
  const encoder = encoderWith(100);
  encodeBlock(encoder, [['x', '1']], 'index');
  t.match(hexOf(encodeBlock(encoder, [['y', '~'.repeat(68)]], 'index')), /^000179/);
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), 'be');
});

t.test('an encoder without a table refers to nothing', async t => {
  const encoder = encoderWith(0);
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), '200001780131', 'and says so once');
  t.equal(hexOf(encodeBlock(encoder, [['x', '1']], 'index')), '0001780131');
});

t.test('a character above U+00FF is refused with its position', async t => {
  const to = new ByteWriter();
  t.throws(() => encoderWith().field(to, 'x', 'a\u010a', 'plain'), {
    name: 'TypeError',
    message: 'character 1 of a header name or value is not an octet; encode the text first',
  });
  t.throws(() => encoderWith().field(to, '\u{1f600}', '', 'index'), TypeError);
  t.throws(() => preencode([['x', '\u0100']]), TypeError);
  encoderWith().field(to, 'x', '\u00ff', 'never');
});

const RESPONSE: readonly HeaderField[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
  ['grpc-status', '0'],
];

t.test('pre-encoded fields are those of plain fields', async t => {
  t.equal(hexOf(preencode(RESPONSE)), hexOf(encodeBlock(encoderWith(), RESPONSE, 'plain')));
  t.equal(preencode([]).length, 0);
});

t.test('pre-encoded fields mean the same in any block, whatever the table holds', async t => {
  const constant = preencode(RESPONSE);
  const encoder = encoderWith();
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
      const encoder = encoderWith(size);
      const decoder = decoderWith();
      const values = Array.from({ length: 30 }, () => text(80));
      for (let i = 0; i < 200; i++) {
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
