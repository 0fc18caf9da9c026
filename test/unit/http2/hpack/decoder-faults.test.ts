import t from 'tap';
import { HpackFault } from '../../../../src/http2/hpack/primitives.ts';
import { decodeAll, decoderWith, octets } from './blocks.ts';

interface Bad {
  readonly what: string;
  /** A block that came before; it puts one entry into the table. */
  readonly before?: string;
  readonly hex: string;
  readonly section: string;
  readonly offset: number;
}

const ONE_ENTRY = '40 01 61 01 62';

const BAD: readonly Bad[] = [
  { what: 'an indexed field with index 0', hex: '82 80', section: '6.1', offset: 1 },
  {
    what: 'an index behind the static table while the other is empty',
    hex: 'be',
    section: '2.3.3',
    offset: 0,
  },
  {
    what: 'an index one behind the last entry',
    before: ONE_ENTRY,
    hex: '82 be bf',
    section: '2.3.3',
    offset: 2,
  },
  { what: 'an index of two octets behind the tables', hex: 'ff 00', section: '2.3.3', offset: 0 },
  { what: 'the highest index there is', hex: 'ff 80 ff ff ff 0f', section: '2.3.3', offset: 0 },
  { what: 'a name index behind the tables, with indexing', hex: '7e 01 62', section: '2.3.3', offset: 0 },
  {
    what: 'a name index behind the tables, without indexing',
    hex: '0f 2f 01 62',
    section: '2.3.3',
    offset: 0,
  },
  { what: 'a name index behind the tables, never indexed', hex: '1f 2f 01 62', section: '2.3.3', offset: 0 },
  { what: 'an index that does not end', hex: '82 ff', section: '5.1', offset: 1 },
  { what: 'an index above 2^32 - 1', hex: 'ff ff ff ff ff 7f', section: '5.1', offset: 0 },
  {
    what: 'an index of more octets than any number needs',
    hex: 'ff 80 80 80 80 80 00',
    section: '5.1',
    offset: 0,
  },
  { what: 'a name index that does not end', hex: '0f', section: '5.1', offset: 0 },
  { what: 'a literal without a name', hex: '40', section: '5.2', offset: 1 },
  { what: 'a literal without a value', hex: '40 01 61', section: '5.2', offset: 3 },
  { what: 'an indexed name without a value', hex: '04', section: '5.2', offset: 1 },
  { what: 'a string length that does not end', hex: '04 7f', section: '5.1', offset: 1 },
  { what: 'a string length above 2^32 - 1', hex: '04 7f 81 ff ff ff 0f', section: '5.1', offset: 1 },
  { what: 'a string one octet longer than the block', hex: '04 02 61', section: '5.2', offset: 1 },
  { what: 'a string of four gigabytes', hex: '04 7f 80 ff ff ff 0f', section: '5.2', offset: 1 },
  { what: 'a coded string longer than the block', hex: '04 82 1f', section: '5.2', offset: 1 },
  { what: 'a name longer than the block', hex: '00 03 61 62', section: '5.2', offset: 1 },
  { what: 'a coded string with the code of EOS', hex: '04 84 ff ff ff ff', section: '5.2', offset: 2 },
  { what: 'a coded string with eight bits of padding', hex: '04 82 1f ff', section: '5.2', offset: 2 },
  { what: 'a coded string with padding of zeros', hex: '04 81 18', section: '5.2', offset: 2 },
  { what: 'a coded name with padding of zeros', hex: '00 81 18 01 61', section: '5.2', offset: 2 },
  { what: 'a size update above our limit', hex: '3f e2 1f', section: '6.3', offset: 0 },
  { what: 'a size update of 2^32 - 1', hex: '3f e0 ff ff ff 0f', section: '6.3', offset: 0 },
  { what: 'a second size update above our limit', hex: '20 3f e2 1f', section: '6.3', offset: 1 },
  { what: 'a size update that does not end', hex: '3f', section: '5.1', offset: 0 },
  { what: 'a size update behind a field', hex: '82 20', section: '4.2', offset: 1 },
  { what: 'a size update between fields', hex: '82 20 82', section: '4.2', offset: 1 },
  { what: 'three size updates', hex: '20 20 20', section: '4.2', offset: 2 },
  {
    what: 'a reference to what a size update evicted',
    before: ONE_ENTRY,
    hex: '20 be',
    section: '2.3.3',
    offset: 1,
  },
];

for (const { what, before = '', hex, section, offset } of BAD) {
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
