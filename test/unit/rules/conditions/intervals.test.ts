import t from 'tap';
import {
  findInterval,
  flattened,
  intervalTable,
  type Span,
} from '../../../../src/rules/conditions/intervals.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** Looks at every span. */
function slowFind(spans: readonly Span[], number: bigint): number {
  const inside = spans.filter(({ from, to }) => from <= number && number <= to);
  return inside.toSorted((a, b) => a.size - b.size)[0]?.entry ?? -1;
}

function keyOf(number: bigint, keyWords: number): Int32Array {
  return Int32Array.from({ length: keyWords }, (_, i) =>
    Number(BigInt.asIntN(32, number >> BigInt(32 * (keyWords - 1 - i)))),
  );
}

/** Where tables begin, because they are parts of a section. */
const PLACE = 3;

function tableOf(spans: readonly Span[], keyWords: number): Int32Array {
  return Int32Array.from([...Array<number>(PLACE).fill(-1), ...intervalTable(flattened(spans), keyWords)]);
}

function span(from: bigint, to: bigint, entry: number): Span {
  return { from, to, size: Number(to - from), entry };
}

t.test('the smallest span that includes a number is found', async t => {
  const spans = [
    span(0n, 100n, 0),
    span(10n, 20n, 1),
    span(12n, 12n, 2),
    span(15n, 40n, 3),
    span(200n, 300n, 4),
  ];
  const table = tableOf(spans, 1);
  const cases: Readonly<Record<string, number>> = {
    0: 0,
    9: 0,
    10: 1,
    12: 2,
    13: 1,
    20: 1,
    21: 3,
    40: 3,
    41: 0,
    100: 0,
    101: -1,
    199: -1,
    300: 4,
    301: -1,
  };
  for (const [number, entry] of Object.entries(cases))
    t.equal(findInterval(table, PLACE, 1, keyOf(BigInt(number), 1)), entry, number);
});

t.test('of equal spans, the first one applies', async t => {
  const table = tableOf([span(5n, 9n, 3), span(5n, 9n, 1)], 1);
  t.equal(findInterval(table, PLACE, 1, keyOf(7n, 1)), 3);
});

t.test('a span can include the greatest number', async t => {
  for (const keyWords of [1, 2, 4]) {
    const greatest = (1n << BigInt(32 * keyWords)) - 1n;
    const table = tableOf([span(greatest - 5n, greatest, 0)], keyWords);
    t.equal(findInterval(table, PLACE, keyWords, keyOf(greatest, keyWords)), 0);
    t.equal(findInterval(table, PLACE, keyWords, keyOf(greatest - 6n, keyWords)), -1);
    t.equal(findInterval(table, PLACE, keyWords, keyOf(0n, keyWords)), -1);
  }
});

t.test('no spans find nothing', async t => {
  t.equal(findInterval(tableOf([], 4), PLACE, 4, keyOf(1n, 4)), -1);
});

t.test('random spans, few and so many that they have an index, are found like those of a list', async t => {
  const random = new SeededRandom(3);
  for (const keyWords of [1, 2, 4]) {
    for (const count of [1, 2, 10, 100, 1_000]) {
      const bits = 32 * keyWords;
      const shared = random.below(bits - 8);
      const any = (): bigint => {
        let number = 0n;
        for (let word = 0; word < keyWords; word++)
          number = (number << 32n) | BigInt(random.below(65_536) * 65_536 + random.below(65_536));
        return number >> BigInt(random.below(shared + 1));
      };
      const spans = Array.from({ length: count }, (_, entry) => {
        const [a, b] = [any(), any()];
        return a < b ? span(a, b, entry) : span(b, a, entry);
      });
      const table = tableOf(spans, keyWords);
      const asked = [
        ...spans.flatMap(({ from, to }) => [from, to, to + 1n]).slice(0, 300),
        ...Array.from({ length: 100 }, any),
      ];
      for (const number of asked) {
        if (number >> BigInt(bits) !== 0n) continue;
        const found = findInterval(table, PLACE, keyWords, keyOf(number, keyWords));
        if (found !== slowFind(spans, number))
          t.equal(found, slowFind(spans, number), `${number} in ${count} spans`);
      }
    }
  }
  t.pass('all were the same');
});
