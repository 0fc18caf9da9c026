import t from 'tap';
import { UsageRate } from '../../../src/quota/usage-rate.ts';

const NOW_MS = 1_700_000_000_000;

/** The rates after reports of requests at times. */
function ratesAfter(...reports: readonly (readonly [allowed: number, denied: number, atMs: number])[]) {
  const rate = new UsageRate();
  for (const [allowed, denied, atMs] of reports) rate.add(allowed, denied, NOW_MS + atMs);
  const { allowed, denied, intervalMs } = rate;
  return { allowed, denied, intervalMs };
}

t.test('rates are those between the two last reports', async t => {
  t.same(ratesAfter([7, 0, 0]), { allowed: 0, denied: 0, intervalMs: 0 });
  t.same(ratesAfter([7, 0, 0], [10, 5, 5_000]), { allowed: 2, denied: 1, intervalMs: 5_000 });
  t.same(ratesAfter([7, 0, 0], [10, 5, 5_000], [0, 0, 6_000]), { allowed: 0, denied: 0, intervalMs: 1_000 });
});

t.test('reports that follow each other fast make one rate together', async t => {
  t.same(ratesAfter([1, 0, 0], [10, 0, 100], [10, 0, 199], [20, 0, 400]), {
    allowed: 100,
    denied: 0,
    intervalMs: 400,
  });
});

t.test('after the clock was set back, rates are made again from the second report on', async t => {
  const before = [
    [1, 0, 0],
    [10, 0, 1_000],
  ] as const;
  t.match(ratesAfter(...before, [30, 0, -3_600_000]), { allowed: 10 });
  t.match(ratesAfter(...before, [30, 0, -3_600_000], [40, 0, -3_599_000]), {
    allowed: 40,
    intervalMs: 1_000,
  });
});
