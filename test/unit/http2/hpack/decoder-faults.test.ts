import t from 'tap';
import { HpackFault } from '../../../../src/http2/hpack/primitives.ts';
import { decodeAll, decoderWith, octets } from './blocks.ts';

const ONE_ENTRY = '40 01 61 01 62';

/** Blocks, and the section and the octet of their fault; some behind a block that puts one entry into the table. */
const BAD: readonly [what: string, hex: string, section: string, offset: number, before?: string][] = [
  ['an indexed field with index 0', '82 80', '6.1', 1],
  ['an index behind the static table while the other is empty', 'be', '2.3.3', 0],
  ['an index one behind the last entry', '82 be bf', '2.3.3', 2, ONE_ENTRY],
  ['an index of two octets behind the tables', 'ff 00', '2.3.3', 0],
  ['the highest index there is', 'ff 80 ff ff ff 0f', '2.3.3', 0],
  ['a name index behind the tables, with indexing', '7e 01 62', '2.3.3', 0],
  ['a name index behind the tables, without indexing', '0f 2f 01 62', '2.3.3', 0],
  ['a name index behind the tables, never indexed', '1f 2f 01 62', '2.3.3', 0],
  ['an index that does not end', '82 ff', '5.1', 1],
  ['an index above 2^32 - 1', 'ff ff ff ff ff 7f', '5.1', 0],
  ['an index of more octets than any number needs', 'ff 80 80 80 80 80 00', '5.1', 0],
  ['a name index that does not end', '0f', '5.1', 0],
  ['a literal without a name', '40', '5.2', 1],
  ['a literal without a value', '40 01 61', '5.2', 3],
  ['an indexed name without a value', '04', '5.2', 1],
  ['a string length that does not end', '04 7f', '5.1', 1],
  ['a string length above 2^32 - 1', '04 7f 81 ff ff ff 0f', '5.1', 1],
  ['a string one octet longer than the block', '04 02 61', '5.2', 1],
  ['a string of four gigabytes', '04 7f 80 ff ff ff 0f', '5.2', 1],
  ['a coded string longer than the block', '04 82 1f', '5.2', 1],
  ['a name longer than the block', '00 03 61 62', '5.2', 1],
  ['a coded string with the code of EOS', '04 84 ff ff ff ff', '5.2', 2],
  ['a coded string with eight bits of padding', '04 82 1f ff', '5.2', 2],
  ['a coded string with padding of zeros', '04 81 18', '5.2', 2],
  ['a coded name with padding of zeros', '00 81 18 01 61', '5.2', 2],
  ['a size update above our limit', '3f e2 1f', '6.3', 0],
  ['a size update of 2^32 - 1', '3f e0 ff ff ff 0f', '6.3', 0],
  ['a second size update above our limit', '20 3f e2 1f', '6.3', 1],
  ['a size update that does not end', '3f', '5.1', 0],
  ['a size update behind a field', '82 20', '4.2', 1],
  ['a size update between fields', '82 20 82', '4.2', 1],
  ['three size updates', '20 20 20', '4.2', 2],
  ['a reference to what a size update evicted', '20 be', '2.3.3', 1, ONE_ENTRY],
];

for (const [what, hex, section, offset, before = ''] of BAD) {
  t.test(`${what} is a fault`, async t => {
    const decoder = decoderWith();
    decodeAll(decoder, octets(before));
    // With octets on either side, to show that neither is looked at.
    const block = octets(hex);
    const bytes = Buffer.concat([Buffer.of(0x82, 0x82), block, Buffer.alloc(8, 0x82)]);
    const fault = t.throws(() => decoder.decode(bytes, 2, 2 + block.length), HpackFault) as HpackFault;
    t.equal(fault.section, section);
    t.match(fault.message, `at octet ${offset} of the header block (RFC 7541, ${section})`);
  });
}

t.test('a fault says what was found', async t => {
  for (const [hex, text] of [
    ['04', 'a string literal is missing, at octet 1 of the header block (RFC 7541, 5.2)'],
    [
      '04 0a 61',
      'string literal of 10 octets, but only 1 remain, at octet 1 of the header block (RFC 7541, 5.2)',
    ],
    ['be', 'index 62, but the tables have 61 entries, at octet 0 of the header block (RFC 7541, 2.3.3)'],
    [
      '3f e2 1f',
      'table size update to 4097, but at most 4096 is allowed, at octet 0 of the header block (RFC 7541, 6.3)',
    ],
  ] as const)
    t.throws(() => decodeAll(decoderWith(), octets(hex)), { name: 'HpackFault', message: text });
});

t.test('a fault’s text holds no octets of names and values', async t => {
  const secret = Buffer.from('hunter2').toString('hex');
  for (const hex of [`00 07 ${secret} 08 ${secret}`, `00 07 ${secret} 07 ${secret} be`]) {
    const fault = t.throws(() => decodeAll(decoderWith(), octets(hex)), HpackFault) as HpackFault;
    t.notMatch(fault.message, /hunter2/);
  }
});

const GOOD: readonly { what: string; before?: string; hex: string; fields: number }[] = [
  { what: 'an empty block', hex: '', fields: 0 },
  { what: 'two size updates up to our limit', hex: '20 3f e1 1f 82', fields: 1 },
  { what: 'a block of nothing but a size update', hex: '3f e1 1f', fields: 0 },
  { what: 'empty strings', hex: '00 00 00 40 80 80', fields: 2 },
  { what: 'a size written with more octets than it needs', hex: '3f 81 80 80 00 82', fields: 1 },
  { what: 'the last index of both tables', before: ONE_ENTRY, hex: 'be bd', fields: 2 },
];

for (const { what, before = '', hex, fields } of GOOD) {
  t.test(`${what}: no fault`, async t => {
    const decoder = decoderWith();
    decodeAll(decoder, octets(before));
    t.equal(decodeAll(decoder, octets(hex)).names.length, fields);
  });
}
