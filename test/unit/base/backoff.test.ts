import t from 'tap';
import { backoffMs } from '../../../src/base/backoff.ts';

const bounds = { initialMs: 100, maxMs: 1_000 };

t.test('the first wait is exactly the initial one', async t => {
  t.equal(
    backoffMs(bounds, 0, () => 0.99),
    100,
  );
});

t.test('later waits lie between the initial one and its doublings, up to the maximum', async t => {
  t.equal(
    backoffMs(bounds, 2, () => 0),
    100,
  );
  t.equal(
    backoffMs(bounds, 2, () => 0.5),
    250,
  );
  t.equal(
    backoffMs(bounds, 3, () => 1),
    800,
  );
  t.equal(
    backoffMs(bounds, 4, () => 1),
    1_000,
  );
  t.equal(
    backoffMs(bounds, 5_000, () => 1),
    1_000,
  );
});

t.test('an initial wait that is not below the maximum gives the maximum', async t => {
  t.equal(
    backoffMs({ initialMs: 5_000, maxMs: 1_000 }, 0, () => 0),
    1_000,
  );
});

t.test('waits grow by another factor where one is given', async t => {
  const longest = (attempt: number) => backoffMs({ ...bounds, multiplier: 1.5 }, attempt, () => 1);
  t.same([0, 1, 2, 3, 20].map(longest), [100, 150, 225, 337.5, 1_000]);
});
