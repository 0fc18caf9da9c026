import t from 'tap';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { HpackFault } from '../../../../src/http2/hpack/primitives.ts';
import { HpackEncoder } from '../../../support/hpack-encoder.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { decodeAll, decoderWith, encodeBlock, fieldsOf, hexOf, outcomeOf, sizeOf } from './blocks.ts';
import { PlainDecoder, PlainFault } from './plain-decoder.ts';
import { readStories } from './story.ts';

const MAX_LIST_BYTES = 600;
const MAX_FIELDS = 8;

/** One connection's blocks, decoded by ours without limits, by ours with limits, and in the plainest way. */
class Witnesses {
  readonly #unlimited = decoderWith();
  readonly #limited = decoderWith({ maxListBytes: MAX_LIST_BYTES, maxFields: MAX_FIELDS });
  readonly #plain = new PlainDecoder(4096);

  /** What they disagree about; empty when they agree. `sound` tells whether the block was sound to all. */
  decode(bytes: Uint8Array): { readonly sound: boolean; readonly disagreement: string } {
    const expected = outcomeOf(() => this.#plain.decode(bytes), PlainFault);
    const whole = outcomeOf(() => decodeAll(this.#unlimited, bytes), HpackFault);
    const limited = outcomeOf(() => decodeAll(this.#limited, bytes), HpackFault);
    if (expected === undefined || whole === undefined || limited === undefined) {
      const sound = [expected, whole, limited].map(outcome => outcome !== undefined);
      return { sound: false, disagreement: sound.includes(true) ? `sound to ${sound}` : '' };
    }
    const kept = fieldsWithinLimits(expected);
    const isSame =
      JSON.stringify(fieldsOf(whole)) === JSON.stringify(expected) &&
      JSON.stringify(fieldsOf(limited)) === JSON.stringify(kept) &&
      whole.listBytes === sizeOf(expected) &&
      limited.listBytes === sizeOf(expected) &&
      !whole.tooLarge &&
      limited.tooLarge === kept.length < expected.length;
    return { sound: true, disagreement: isSame ? '' : 'other fields, sizes or limits' };
  }
}

function fieldsWithinLimits(fields: readonly HeaderField[]): HeaderField[] {
  const beyond = fields.findIndex(
    (_, i) => i >= MAX_FIELDS || sizeOf(fields.slice(0, i + 1)) > MAX_LIST_BYTES,
  );
  return fields.slice(0, beyond === -1 ? fields.length : beyond);
}

/** A copy with one to three changes of the kinds that bytes suffer. */
function mutated(random: SeededRandom, bytes: Uint8Array): Uint8Array {
  const octets = [...bytes];
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(octets.length + 1);
    const count = random.below(4);
    switch (random.below(5)) {
      case 0:
        octets[at] = (octets[at] ?? 0) ^ (1 << random.below(8));
        break;
      case 1:
        octets.splice(at, count);
        break;
      case 2:
        octets.splice(at, 0, ...Array.from({ length: count }, () => random.below(256)));
        break;
      case 3:
        octets.splice(at, 0, ...octets.slice(at, at + 1 + random.below(20)));
        break;
      default:
        octets[at] = random.pick([0x00, 0x20, 0x3f, 0x40, 0x7f, 0x80, 0xbe, 0xff]);
    }
  }
  return Uint8Array.from(octets);
}

t.test('random octets: a fault or the same fields as in the plainest decoding', async t => {
  const random = new SeededRandom(1);
  let sound = 0;
  for (let connection = 0; connection < 5_000; connection++) {
    const witnesses = new Witnesses();
    for (let isSound = true; isSound; ) {
      const bytes = Uint8Array.from({ length: random.below(8) }, () => random.below(256));
      const result = witnesses.decode(bytes);
      if (result.disagreement !== '') t.fail(`${hexOf(bytes)}: ${result.disagreement}`);
      isSound = result.sound;
      if (isSound) sound++;
    }
  }
  t.ok(sound > 125, `${sound} blocks happened to be sound`);
});

t.test('mutated blocks of real encoders: a fault or the same fields', async t => {
  const random = new SeededRandom(2);
  const counts = { sound: 0, faults: 0 };
  for (let round = 0; round < 40; round++) {
    for (const { blocks } of readStories()) {
      const witnesses = new Witnesses();
      for (const { bytes } of blocks) {
        const sent = random.below(3) === 0 ? mutated(random, bytes) : bytes;
        const { sound, disagreement } = witnesses.decode(sent);
        if (disagreement !== '') t.fail(`${hexOf(sent)}: ${disagreement}`);
        counts[sound ? 'sound' : 'faults']++;
        if (!sound) break;
      }
    }
  }
  t.ok(counts.sound > 250 && counts.faults > 50, JSON.stringify(counts));
});

t.test('mutated blocks of our encoder, under changing table sizes: a fault or the same fields', async t => {
  const random = new SeededRandom(3);
  const counts = { sound: 0, faults: 0 };
  for (let connection = 0; connection < 200; connection++) {
    const witnesses = new Witnesses();
    const encoder = new HpackEncoder({ maxTableSize: 4096 });
    for (let isSound = true, i = 0; isSound && i < 12; i++) {
      if (random.below(4) === 0) {
        encoder.setPeerTableSize(random.pick([0, 40, 100, 4096, 10_000]));
      }
      const fields = Array.from(
        { length: random.below(12) },
        (): HeaderField => [
          `n${random.below(6)}`,
          String.fromCharCode(random.below(256)).repeat(random.below(70)),
        ],
      );
      const bytes = encodeBlock(encoder, fields, random.pick(['index', 'plain', 'never'] as const));
      const sent = random.below(8) === 0 ? mutated(random, bytes) : bytes;
      const { sound, disagreement } = witnesses.decode(sent);
      if (disagreement !== '') t.fail(`${hexOf(sent)}: ${disagreement}`);
      counts[sound ? 'sound' : 'faults']++;
      isSound = sound;
    }
  }
  t.ok(counts.sound > 300 && counts.faults > 30, JSON.stringify(counts));
});

t.test('no long block takes long: short patterns repeated to 64 KiB', async t => {
  const random = new SeededRandom(4);
  const patterns = Array.from({ length: 256 }, (_, octet) => [octet]);
  for (let i = 0; i < 50; i++)
    patterns.push(Array.from({ length: 2 + random.below(5) }, () => random.below(256)));
  // Each of these inserts or refers without end, the last with an eviction for every four octets.
  patterns.push(
    [0x40, 0x00, 0x00],
    [0x40, 0x00, 0x00, 0xbe],
    [0x40, 0x01, 0x61, 0x00],
    [0xbe],
    [0x00, 0x80, 0x80],
  );
  let slowest = 0;
  for (const pattern of patterns) {
    const bytes = Buffer.alloc(65_536, Uint8Array.from(pattern));
    const decoder = decoderWith({ maxListBytes: 8192, maxFields: 100 });
    const before = process.cpuUsage();
    const block = outcomeOf(() => decodeAll(decoder, bytes), HpackFault);
    slowest = Math.max(slowest, process.cpuUsage(before).user / 1_000);
    if (block !== undefined && (block.names.length > 100 || sizeOf(fieldsOf(block)) > 8192))
      t.fail(`${pattern}: ${block.names.length} fields were kept`);
  }
  // Some milliseconds; a cost that grew with the square of the length would be seconds.
  t.ok(slowest < 500, `the slowest took ${slowest} ms of processor time`);
});
