import t from 'tap';
import type { HpackDecoder } from '../../../../src/http2/hpack/decoder.ts';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import type { HeaderBlock } from '../../../../src/http2/hpack/header-list.ts';
import { HpackFault } from '../../../../src/http2/hpack/primitives.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { fieldBlock } from '../../../support/wire-frames.ts';
import {
  decodeAll,
  decoderWith,
  encodeBlock,
  fieldsIn,
  fieldsOf,
  hexOf,
  octets,
  outcomeOf,
} from './blocks.ts';
import { PlainDecoder, PlainFault } from './plain-decoder.ts';
import { readStories, type Story } from './story.ts';

const CALL: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/service/Method'],
  ['te', 'trailers'],
];

const decodeHex = (decoder: HpackDecoder, hex: string): HeaderBlock => decodeAll(decoder, octets(hex));

/** A literal that makes `name: value` the newest entry; both of one octet. */
const adding = (name: string, value: string): string =>
  `40 01 ${Buffer.from(name).toString('hex')} 01 ${Buffer.from(value).toString('hex')}`;

t.test('a caller that indexes its fields gets the same object from the third request on', async t => {
  const encoder = new HpackEncoder({ maxTableSize: 4096 });
  const decoder = decoderWith();
  const blocks = Array.from({ length: 5 }, () => decodeAll(decoder, encodeBlock(encoder, CALL, 'index')));
  for (const block of blocks) t.same(fieldsOf(block), CALL);
  t.not(blocks[0], blocks[1], 'the first block changed the table');
  for (const block of blocks.slice(2)) t.equal(block, blocks[1]);
});

t.test('a caller without a table gets the same object from the second request on', async t => {
  const encoder = new HpackEncoder({ maxTableSize: 4096 });
  const decoder = decoderWith();
  const blocks = Array.from({ length: 3 }, () => decodeAll(decoder, encodeBlock(encoder, CALL, 'plain')));
  t.equal(blocks[1], blocks[0]);
  t.equal(blocks[2], blocks[0]);
});

t.test('clients whose requests do not differ get the same object', async t => {
  for (const [name, first] of [
    ['h2load', 2],
    ['nghttp', 2],
    ['grpc-js', 4],
  ] as const) {
    const story = readStories().find(story => story.name === name) as Story;
    const decoder = decoderWith();
    for (const { bytes } of story.blocks.slice(0, first)) decodeAll(decoder, bytes);
    const [repeated] = story.blocks.slice(first - 1);
    const block = decodeAll(decoder, repeated.bytes);
    t.equal(decodeAll(decoder, repeated.bytes), block, name);
  }
});

t.test('what one reader wrote into a block the next one finds', async t => {
  const decoder = decoderWith();
  const block = decodeHex(decoder, '82 86');
  t.equal(block.verdict, undefined);
  block.verdict = 'fine';
  t.equal(decodeHex(decoder, '82 86').verdict, 'fine');
  t.equal(decodeHex(decoder, '82 87').verdict, undefined, 'another block has its own');
});

t.test('the same bytes elsewhere in another buffer are the same block', async t => {
  const decoder = decoderWith();
  const block = decodeHex(decoder, '82 86 84');
  t.equal(decoder.decode(octets('ff ff 82 86 84 ff'), 2, 5), block);
  const other = decoder.decode(octets('82 86 87 ff'), 1, 3);
  t.equal(decodeHex(decoder, '86 87'), other);
});

t.test('a block is found by its bytes as they were, though their buffer is written over', async t => {
  const decoder = decoderWith();
  const buffer = octets('82 86 84');
  const block = decodeAll(decoder, buffer);
  buffer[2] = 0x85;
  t.same(fieldsOf(decodeAll(decoder, buffer)).at(-1), [':path', '/index.html']);
  t.equal(decodeHex(decoder, '82 86 84'), block);
});

t.test('a block that begins or ends like a kept one is another', async t => {
  const decoder = decoderWith();
  decodeHex(decoder, '82 86 84');
  t.equal(decodeHex(decoder, '82 86').names.length, 2);
  t.equal(decodeHex(decoder, '86 84').names.length, 2);
  t.equal(decodeHex(decoder, '82 86 84 82').names.length, 4);
  t.equal(decodeHex(decoder, '').names.length, 0);
});

t.test('an insertion in between gives an index its new meaning', async t => {
  const decoder = decoderWith();
  decodeHex(decoder, adding('a', '1'));
  t.same(fieldsIn(decoder, 'be'), [['a', '1']]);
  t.same(fieldsIn(decoder, 'be'), [['a', '1']], 'from the kept block');
  decodeHex(decoder, adding('b', '2'));
  t.same(fieldsIn(decoder, 'be'), [['b', '2']]);
  t.same(fieldsIn(decoder, 'bf'), [['a', '1']]);
});

t.test(
  'an insertion in the same block counts for what follows, and for the block when it comes again',
  async t => {
    const decoder = decoderWith();
    decodeHex(decoder, adding('a', '1'));
    const hex = `be ${adding('b', '2')} be`;
    t.same(fieldsIn(decoder, hex), [
      ['a', '1'],
      ['b', '2'],
      ['b', '2'],
    ]);
    t.same(fieldsIn(decoder, hex), [
      ['b', '2'],
      ['b', '2'],
      ['b', '2'],
    ]);
  },
);

t.test('an eviction in between makes an index a fault, not an old answer', async t => {
  const decoder = decoderWith();
  decodeHex(decoder, adding('a', '1'));
  t.same(fieldsIn(decoder, 'be'), [['a', '1']]);
  decodeHex(decoder, '20');
  t.throws(() => decodeHex(decoder, 'be'), { name: 'HpackFault', section: '2.3.3' });
});

t.test('an entry that is too large for the table empties it, and the kept blocks with it', async t => {
  const decoder = decoderWith({ tableSize: 100 });
  decodeHex(decoder, adding('a', '1'));
  t.same(fieldsIn(decoder, 'be'), [['a', '1']]);
  decodeAll(decoder, Buffer.concat([octets('40 01 61 64'), Buffer.alloc(100, 0x62)]));
  t.throws(() => decodeHex(decoder, 'be'), { name: 'HpackFault', section: '2.3.3' });
});

t.test('a table that came back to the same entries is not taken for the one before', async t => {
  const decoder = decoderWith();
  decodeHex(decoder, adding('a', '1'));
  const kept = decodeHex(decoder, 'be');
  decodeHex(decoder, `20 3f e1 1f ${adding('a', '1')}`);
  const after = decodeHex(decoder, 'be');
  t.same(fieldsOf(after), [['a', '1']]);
  t.not(after, kept);
});

t.test('a size update in a block is carried out every time', async t => {
  const decoder = decoderWith();
  decodeHex(decoder, '20 82');
  decodeHex(decoder, `3f e1 1f ${adding('a', '1')}`);
  t.same(fieldsIn(decoder, '20 82'), [[':method', 'GET']]);
  t.throws(() => decodeHex(decoder, 'be'), { name: 'HpackFault', section: '2.3.3' });
});

t.test('four blocks are kept, and the fifth takes the place of the first', async t => {
  const decoder = decoderWith();
  const rounds = ['82', '83', '84', '85'].map(hex => decodeHex(decoder, hex));
  for (const [i, hex] of ['82', '83', '84', '85'].entries()) t.equal(decodeHex(decoder, hex), rounds[i]);
  decodeHex(decoder, '86');
  for (const [i, hex] of ['83', '84', '85'].entries()) t.equal(decodeHex(decoder, hex), rounds[i + 1]);
  t.not(decodeHex(decoder, '82'), rounds[0]);
});

t.test('a block above 1 KiB is decoded afresh each time', async t => {
  const decoder = decoderWith();
  for (const [length, isKept] of [
    [1024, true],
    [1025, false],
  ] as const) {
    const bytes = fieldBlock([['x', 'y'.repeat(length - 6)]]);
    t.equal(bytes.length, length);
    const [first, second] = [decodeAll(decoder, bytes), decodeAll(decoder, bytes)];
    t.equal(first === second, isKept, `${length} octets`);
  }
});

t.test('a block of more than 100 fields is decoded afresh each time: an octet can stand for one', async t => {
  const decoder = decoderWith({ maxFields: 1_000 });
  for (const [fields, isKept] of [
    [100, true],
    [101, false],
  ] as const) {
    const bytes = Buffer.alloc(fields, 0x82);
    const [first, second] = [decodeAll(decoder, bytes), decodeAll(decoder, bytes)];
    t.equal(first === second, isKept, `${fields} fields`);
  }
});

t.test('a list that is too large comes again as such', async t => {
  const decoder = decoderWith({ maxFields: 1 });
  for (let i = 0; i < 3; i++) t.equal(decodeHex(decoder, '82 86').tooLarge, true);
});

t.test(
  'under random insertions, evictions and repetitions it agrees with a decoder that keeps no blocks',
  async t => {
    const random = new SeededRandom(4);
    // A small table and few kinds of blocks, so that the same bytes come again under another table all the time.
    const three = `${adding('a', '1')} ${adding('b', '2')} ${adding('c', '3')}`;
    const changes = [adding('a', '1'), adding('b', '2'), '7e 01 34', `20 3f 59 ${three}`];
    const references = ['be', 'bf', 'c0', 'be bf', 'bf c0', '0f 2f 01 35', '00 01 64 01 36'];
    let decoded = 0;
    let repeated = 0;
    for (let connection = 0; connection < 200; connection++) {
      const decoder = decoderWith({ tableSize: 120 });
      const plain = new PlainDecoder(120);
      const seen = new Set<HeaderBlock>();
      for (let i = 0; i < 40; i++) {
        const change = i === 0 ? three : random.below(5) === 0 ? random.pick(changes) : '';
        // Two entries remain of three: a fault is near.
        const shrink = random.below(60) === 0 ? '3f 45' : '';
        const bytes = octets(shrink + change + random.pick(references));
        const block = outcomeOf(() => decodeAll(decoder, bytes), HpackFault);
        const expected = outcomeOf(() => plain.decode(bytes), PlainFault);
        if (block === undefined || expected === undefined) {
          if (block !== expected) t.fail(`${hexOf(bytes)}: only one of the decoders finds a fault`);
          break;
        }
        if (JSON.stringify(fieldsOf(block)) !== JSON.stringify(expected))
          t.fail(`${hexOf(bytes)}: other fields`);
        decoded++;
        if (seen.has(block)) repeated++;
        seen.add(block);
      }
    }
    t.ok(decoded > 2000, `${decoded} blocks were sound`);
    t.ok(repeated > 500, `${repeated} came from those kept`);
  },
);
