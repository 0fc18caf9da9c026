import t from 'tap';
import { WeightedTurns } from '../../../../src/base/turns/weighted-turns.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

interface Item {
  readonly tenant: string;
  readonly number: number;
  readonly weight: number;
}

const QUANTUM = 10;

function turns(): WeightedTurns<Item> {
  return new WeightedTurns({ weightOf: ({ weight }) => weight, quantum: QUANTUM });
}

function add(queue: WeightedTurns<Item>, tenant: string, count: number, weight: number): void {
  for (let number = 0; number < count; number++) queue.add(tenant, { tenant, number, weight });
}

/** Tenants in the order in which they are served, with how many items they had. */
function runs(items: readonly Item[]): string {
  let text = '';
  for (let i = 0, from = 0; i < items.length; i++) {
    if (items[i + 1]?.tenant === items[i].tenant) continue;
    text += ` ${items[i].tenant}${i + 1 - from}`;
    from = i + 1;
  }
  return text.trim();
}

t.test('a tenant with much in the queue waits after each quantum for the others', async t => {
  const queue = turns();
  add(queue, 'a', 25, 1);
  add(queue, 'b', 1, 1);
  add(queue, 'c', 12, 1);
  t.equal(runs(queue.take({ items: 100, weight: 1_000 })), 'a10 b1 c10 a10 c2 a5');
  t.ok(queue.isEmpty);
});

t.test('a tenant with heavy items is passed over until the others had as much', async t => {
  const queue = turns();
  add(queue, 'heavy', 3, 30);
  add(queue, 'light', 100, 1);
  t.equal(
    runs(queue.take({ items: 200, weight: 1_000 })),
    'heavy1 light30 heavy1 light30 heavy1 light40',
    'thirty of one for one of the other',
  );
});

t.test('what is taken together is bounded, and goes on where it ended', async t => {
  const queue = turns();
  add(queue, 'a', 5, 4);
  add(queue, 'b', 2, 100);
  t.equal(runs(queue.take({ items: 2, weight: 50 })), 'a2');
  t.equal(runs(queue.take({ items: 9, weight: 50 })), 'a1');
  t.equal(runs(queue.take({ items: 9, weight: 50 })), 'b1', 'one item may be heavier');
  t.equal(runs(queue.take({ items: 9, weight: 50 })), 'a2');
  t.equal(runs(queue.take({ items: 9, weight: 50 })), 'b1');
  t.same(queue.take({ items: 9, weight: 50 }), []);
});

t.test('what a tenant was served while it was alone does not count against it', async t => {
  const queue = turns();
  add(queue, 'a', 1_000, 50);
  t.equal(queue.take({ items: 900, weight: 1e9 }).length, 900);
  add(queue, 'b', 20, 1);
  const served = queue.take({ items: 100, weight: 120 });
  t.ok(
    served.some(({ tenant }) => tenant === 'a'),
    runs(served),
  );
});

t.test('items of a tenant stay in order, and none is lost or waits for more than a turn of each', async t => {
  for (let seed = 0; seed < 50; seed++) {
    const random = new SeededRandom(seed);
    const queue = turns();
    const added = new Map<string, number>();
    const served = new Map<string, number>();
    let waiting = 0;
    for (let step = 0; step < 500; step++) {
      for (let i = random.below(20); i > 0; i--) {
        const tenant = `t${random.below(5)}`;
        const number = added.get(tenant) ?? 0;
        added.set(tenant, number + 1);
        queue.add(tenant, { tenant, number, weight: 1 + random.below(40) });
        waiting++;
      }
      const bounds = { items: 1 + random.below(16), weight: 1 + random.below(100) };
      const taken = queue.take(bounds);
      const weight = taken.reduce((sum, item) => sum + item.weight, 0);
      if (taken.length > bounds.items || (taken.length > 1 && weight > bounds.weight)) {
        t.fail(`seed ${seed}: more than allowed`);
      }
      if (taken.length === 0 && waiting > 0) t.fail(`seed ${seed}: nothing taken of ${waiting}`);
      for (const { tenant, number } of taken) {
        if (number !== (served.get(tenant) ?? 0)) t.fail(`seed ${seed}: ${tenant} is not in order`);
        served.set(tenant, number + 1);
        waiting--;
      }
    }
    // Whoever comes now waits for a turn of each of the others, and for one item that was heavier than its turn.
    queue.add('late', { tenant: 'late', number: 0, weight: 1 });
    let before = 0;
    for (;;) {
      const [item] = queue.take({ items: 1, weight: 1 });
      if (item.tenant === 'late') break;
      before += item.weight;
    }
    if (before > 5 * (QUANTUM + 40)) t.fail(`seed ${seed}: ${before} went before`);
  }
});
