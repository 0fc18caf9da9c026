import t from 'tap';
import { FirstOf } from '../../../../src/base/collections/first-of.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

t.test('the first elements are those of the sorted list, whatever the order in which they come', async t => {
  const random = new SeededRandom(1);
  for (let round = 0; round < 50; round++) {
    const elements = Array.from({ length: random.below(200) }, (_, number) => ({
      number,
      size: random.below(20),
    }));
    const order = (a: (typeof elements)[number], b: (typeof elements)[number]) =>
      b.size - a.size || a.number - b.number;
    const count = 1 + random.below(30);
    const first = new FirstOf(count, order);
    for (const element of elements) first.add(element);
    t.same(first.sorted(), [...elements].sort(order).slice(0, count));
  }
});
