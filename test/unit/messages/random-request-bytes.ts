import type { SeededRandom } from '../../support/seeded-random.ts';
import { fixed, message, number, varint } from './wire-bytes.ts';

const TEXTS = ['', 'a', 'key', 'user_id', 'ü', '日本', '😀', 'x'.repeat(130), '\u0000', 'a=b'];
const NUMBERS = [0n, 1n, 5n, 127n, 128n, 65_535n, 0x7fff_ffffn, 0xffff_ffffn, 0x1_0000_0005n, 2n ** 64n - 1n];
const LARGE_NUMBERS = [...NUMBERS, 2n ** 40n, 2n ** 53n - 1n, 2n ** 53n];

/**
 * A `RateLimitRequest` as an odd but lawful encoder might write it: fields in any order, plain fields more than once,
 * unknown ones between them, numbers in more bytes than they need.
 */
export function randomRequestBytes(random: SeededRandom): Buffer {
  const fields = [
    ...several(random, 2, () => message(1, random.pick(TEXTS))),
    ...several(random, 3, () => descriptorBytes(random)),
    ...several(random, 2, () => anyNumber(random, 3)),
    ...several(random, 2, () => unknownBytes(random, 4)),
  ];
  return Buffer.concat(shuffled(random, fields));
}

function descriptorBytes(random: SeededRandom): Buffer {
  const limit = () =>
    message(
      2,
      ...several(random, 2, () => anyNumber(random, 1)),
      ...several(random, 2, () => anyNumber(random, 2)),
    );
  const fields = [
    ...several(random, 3, () => entryBytes(random)),
    // At most one: what protobufjs makes of two is not what the format asks for.
    ...several(random, 1, limit),
    ...several(random, 1, () => message(3, ...several(random, 2, () => anyLargeNumber(random)))),
    ...several(random, 2, () => anyNumber(random, 4)),
    ...several(random, 1, () => unknownBytes(random, 5)),
  ];
  return message(2, ...shuffled(random, fields));
}

function entryBytes(random: SeededRandom): Buffer {
  const fields = [
    ...several(random, 2, () => message(1, random.pick(TEXTS))),
    ...several(random, 2, () => message(2, random.pick(TEXTS))),
    ...several(random, 1, () => unknownBytes(random, 3)),
  ];
  return message(1, ...shuffled(random, fields));
}

/** A 32-bit number in one to five bytes, or in ten: what protobufjs makes of lengths between is not lawful. */
function anyNumber(random: SeededRandom, field: number): Buffer {
  return number(field, random.pick(NUMBERS), random.below(4) === 0 ? 10 : 1 + random.below(5));
}

function anyLargeNumber(random: SeededRandom): Buffer {
  return number(1, random.pick(LARGE_NUMBERS), 1 + random.below(10));
}

function unknownBytes(random: SeededRandom, from: number): Buffer {
  const field = random.below(4) === 0 ? 536_870_911 : from + random.below(40);
  switch (random.below(4)) {
    case 0:
      return number(field, random.pick(NUMBERS));
    case 1:
      return message(field, varint(random.pick(NUMBERS)));
    case 2:
      return fixed(field, 8);
    default:
      return fixed(field, 4);
  }
}

function several<T>(random: SeededRandom, atMost: number, make: () => T): T[] {
  return Array.from({ length: random.below(atMost + 1) }, make);
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
