import t from 'tap';
import { backoffMs } from '../../../src/base/backoff.ts';

const bounds = { initialMs: 100, maxMs: 1_000 };

/** The wait before an attempt, for a number that is drawn. */
function wait(attempt: number, drawn: number, of: Parameters<typeof backoffMs>[0] = bounds): number {
  return backoffMs(of, attempt, () => drawn);
}

t.test('the first wait is exactly the initial one', async t => {
  t.equal(wait(0, 0.99), 100);
});

t.test('later waits lie between the initial one and its doublings, up to the maximum', async t => {
  t.same([wait(2, 0), wait(2, 0.5), wait(3, 1), wait(4, 1), wait(5_000, 1)], [100, 250, 800, 1_000, 1_000]);
});

t.test('an initial wait that is not below the maximum gives the maximum', async t => {
  t.equal(wait(0, 0, { initialMs: 5_000, maxMs: 1_000 }), 1_000);
});

t.test('waits grow by another factor where one is given', async t => {
  const longest = (attempt: number) => wait(attempt, 1, { ...bounds, multiplier: 1.5 });
  t.same([0, 1, 2, 3, 20].map(longest), [100, 150, 225, 337.5, 1_000]);
});
