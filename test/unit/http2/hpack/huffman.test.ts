import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import {
  decodeHuffman,
  HUFFMAN_FAULT,
  huffmanLength,
  maxDecodedLength,
  writeHuffman,
} from '../../../../src/http2/hpack/huffman.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { APPENDIX_B, bitsOf } from './appendix-b.ts';
import { hexOf, octets } from './blocks.ts';
import { decodedPlainly } from './plain-huffman.ts';

const CODES = APPENDIX_B.map(bitsOf);

/** Octets with these bits; the last one is filled up with ones. */
function packed(bits: string): Uint8Array {
  const filled = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Uint8Array.from(filled.match(/.{8}/g) ?? [], octet => Number.parseInt(octet, 2));
}

function encoded(text: string): Uint8Array {
  const to = new ByteWriter(1);
  writeHuffman(to, text);
  return to.take();
}

/** What the bytes decode to, or the fault. */
function decoded(bytes: Uint8Array): string | number {
  const to = Buffer.alloc(maxDecodedLength(bytes.length));
  const length = decodeHuffman(bytes, 0, bytes.length, to);
  return length < 0 ? length : to.toString('latin1', 0, length);
}

const ALL_OCTETS = Array.from({ length: 256 }, (_, octet) => String.fromCharCode(octet));

t.test('every octet has the code of Appendix B, and is decoded from it', async t => {
  for (const [octet, text] of ALL_OCTETS.entries()) {
    t.equal(hexOf(encoded(text)), hexOf(packed(CODES[octet])), `octet ${octet}`);
    t.equal(huffmanLength(text), Math.ceil(CODES[octet].length / 8));
    t.equal(decoded(packed(CODES[octet])), text);
  }
});

t.test('every code is read and written at every place within an octet', async t => {
  const wrong: string[] = [];
  for (const text of ALL_OCTETS) {
    // A zero takes five bits, so up to seven of them move what follows by every number of bits.
    for (let zeros = 1; zeros <= 7; zeros++) {
      const moved = `${'0'.repeat(zeros)}${text}a${text}`;
      const bits = [...moved].map(character => CODES[character.charCodeAt(0)]).join('');
      const isWritten = hexOf(encoded(moved)) === hexOf(packed(bits));
      if (!isWritten || decoded(packed(bits)) !== moved) wrong.push(moved);
    }
  }
  t.same(wrong, []);
});

t.test('every code is read behind and before every other', async t => {
  const wrong = ALL_OCTETS.flatMap(first =>
    ALL_OCTETS.filter(second => decoded(encoded(first + second)) !== first + second),
  );
  t.same(wrong, []);
});

t.test('whatever two octets say is what Appendix B says, faults included', async t => {
  const wrong: string[] = [];
  for (let value = 0; value < 0x1_0000; value++) {
    const bytes = Uint8Array.of(value >>> 8, value & 0xff);
    if (decoded(bytes) !== decodedPlainly(bytes)) wrong.push(hexOf(bytes));
  }
  t.same(wrong, []);
});

t.test('random octets with many ones, where the long codes are, decode as Appendix B says', async t => {
  const random = new SeededRandom(7541);
  const outcomes = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    const bytes = Uint8Array.from({ length: random.below(9) }, () =>
      random.below(3) === 0 ? random.below(256) : 0xff << random.below(3),
    );
    const outcome = decoded(bytes);
    const kind = typeof outcome === 'string' ? 'text' : String(outcome);
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    if (outcome !== decodedPlainly(bytes)) t.fail(`${hexOf(bytes)} became ${outcome}`);
  }
  t.same([...outcomes.keys()].sort(), ['-1', '-2', '-3', 'text'], 'every outcome occurred');
});

t.test('random strings of octets come back from encoding', async t => {
  const random = new SeededRandom(2015);
  const wrong: string[] = [];
  for (let i = 0; i < 2_000; i++) {
    const text = Array.from({ length: random.below(40) }, () => random.pick(ALL_OCTETS)).join('');
    const bytes = encoded(text);
    const hasLength = huffmanLength(text) === bytes.length && text.length <= maxDecodedLength(bytes.length);
    if (!hasLength || decoded(bytes) !== text) wrong.push(text);
  }
  t.same(wrong, []);
});

const { endOfString, longPadding, badPadding } = HUFFMAN_FAULT;
const FAULTS: readonly { what: string; hex: string; fault: number }[] = [
  { what: 'EOS alone', hex: 'ff ff ff ff', fault: endOfString },
  { what: 'EOS and then a character', hex: 'ff ff ff fc', fault: endOfString },
  { what: 'EOS behind a character', hex: '1f ff ff ff ff', fault: endOfString },
  { what: 'EOS in the midst of a longer string', hex: '1f ff ff ff f8 00 00', fault: endOfString },
  { what: 'eight bits of padding', hex: 'ff', fault: longPadding },
  { what: 'eleven bits of padding behind a character', hex: '1f ff', fault: longPadding },
  { what: 'twenty-seven bits of padding behind a character', hex: '1f ff ff ff', fault: longPadding },
  { what: 'a character and padding of zeros', hex: '18', fault: badPadding },
  { what: 'a character and padding whose last bit is zero', hex: '1e', fault: badPadding },
  { what: 'a code that breaks off', hex: 'fe', fault: badPadding },
  { what: 'one of the longest codes and padding of zeros', hex: 'ff ff ff f4', fault: badPadding },
];

for (const { what, hex, fault } of FAULTS) {
  t.test(`${what} is refused`, async t => {
    t.equal(decoded(octets(hex)), fault);
    t.equal(decodedPlainly(octets(hex)), fault);
  });
}

t.test('up to seven ones are padding', async t => {
  // Eight codes of five bits end at every place within an octet.
  const paddings = Array.from({ length: 8 }, (_, i) => {
    const text = 'a'.repeat(i + 1);
    const bits = CODES[0x61].repeat(text.length);
    t.equal(decoded(packed(bits)), text);
    return packed(bits).length * 8 - bits.length;
  });
  t.same(paddings.sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
  t.equal(decoded(new Uint8Array(0)), '');
});

t.test('only the given part of the bytes is read', async t => {
  const to = Buffer.alloc(8);
  t.equal(decodeHuffman(octets('00 1f ff'), 1, 2, to), 1);
  t.equal(to[0], 0x61);
});
