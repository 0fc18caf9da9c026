import t from 'tap';
import {
  countOutcome,
  hitsOverLimit,
  isOverLimit,
  nearThreshold,
  type Outcome,
} from '../../../../src/decision/statistics/outcome.ts';
import { ownTotals, totalOf } from '../../../../src/decision/statistics/shared-totals.ts';
import { RULE_STAT, RULE_STATS } from '../../../../src/stats/names.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

function outcome(limit: number, hits: number, after: number, more: Partial<Outcome> = {}): Outcome {
  return {
    requestsPerUnit: limit,
    nearThreshold: nearThreshold(0.8, limit),
    hits,
    before: after - hits,
    after,
    held: false,
    ...more,
  };
}

/** What an outcome adds, by name; zeros left out. */
function counted(of: Outcome): Record<string, number> {
  const row = ownTotals(RULE_STATS.length);
  countOutcome(row, 0, of);
  return Object.fromEntries(
    RULE_STATS.map((name, i) => [name, totalOf(row, i)]).filter(([, count]) => count !== 0),
  );
}

t.test('the near threshold is the floor of a product in single precision', async t => {
  for (const [ratio, limit, near] of [
    [0.8, 0, 0],
    [0.8, 1, 0],
    [0.8, 5, 4],
    [0.8, 8, 6],
    [0.8, 10, 8],
    [0.8, 14, 11],
    [0.8, 15, 12],
    [0.8, 20, 16],
    [0.8, 5_242_881, 4_194_305],
    [0.8, 4_294_967_295, 3_435_973_888],
    [0.7, 90, 63],
    [0.57, 100, 57],
    [0.29, 100, 29],
    [0, 100, 0],
    [1, 100, 100],
  ]) {
    t.equal(nearThreshold(ratio, limit), near, `${ratio} of ${limit}`);
  }
});

t.test('the near threshold never exceeds the limit, however single precision rounds', async t => {
  for (const limit of [16_777_217, 16_777_219, 4_294_967_167, 4_294_967_295])
    t.ok(nearThreshold(1, limit) <= limit, String(limit));
});

t.test('an outcome adds to the statistics what lies between its thresholds', async t => {
  for (const [limit, hits, after, expected] of [
    [15, 1, 11, { within_limit: 1 }],
    [15, 1, 12, { within_limit: 1 }],
    [15, 1, 13, { within_limit: 1, near_limit: 1 }],
    [15, 1, 16, { over_limit: 1 }],
    [20, 3, 5, { within_limit: 3 }],
    [8, 2, 7, { within_limit: 2, near_limit: 1 }],
    [20, 3, 19, { within_limit: 3, near_limit: 3 }],
    [20, 3, 22, { near_limit: 1, over_limit: 2 }],
    [20, 7, 22, { near_limit: 4, over_limit: 2 }],
    [10, 3, 30, { over_limit: 3 }],
    [10, 0, 11, {}],
    [10, 0, 10, {}],
    [0, 1, 1, { over_limit: 1 }],
    [0, 0, 0, {}],
  ] as const) {
    const of = outcome(limit, hits, after);
    t.strictSame(counted(of), expected, `limit ${limit}, ${hits} hits up to ${after}`);
    t.equal(isOverLimit(of), after > limit, `limit ${limit}, count ${after}`);
  }
});

t.test('hits that were held back are within the limit, and near nothing', async t => {
  t.strictSame(counted(outcome(15, 2, 13, { before: 13, held: true })), { within_limit: 2 });
  t.strictSame(counted(outcome(15, 2, 15, { before: 15, held: true })), { within_limit: 2 });
  t.strictSame(
    counted(outcome(15, 2, 16, { before: 16, held: true })),
    { over_limit: 2 },
    'over already before',
  );
});

t.test('the hits over the limit are all of them, or those beyond it', async t => {
  t.equal(hitsOverLimit(outcome(10, 3, 30)), 3);
  t.equal(hitsOverLimit(outcome(10, 3, 13)), 3);
  t.equal(hitsOverLimit(outcome(10, 3, 12)), 2);
  t.equal(hitsOverLimit(outcome(10, 3, 11)), 1);
  t.equal(hitsOverLimit(outcome(0, 5, 5)), 5);
});

t.test('counting hits together equals judging each by the count it made', async t => {
  const random = new SeededRandom(7);
  for (let i = 0; i < 5_000; i++) {
    const limit = random.below(30);
    const hits = random.below(12);
    const before = random.below(40);
    const near = random.below(limit + 1);
    const of = outcome(limit, hits, before + hits, { nearThreshold: near });
    const counts = Array.from({ length: hits }, (_, nth) => before + nth + 1);
    const expected = {
      within_limit: before + hits > limit ? 0 : hits,
      near_limit: counts.filter(count => count > near && count <= limit).length,
      over_limit: counts.filter(count => count > limit).length,
    };
    const found = { within_limit: 0, near_limit: 0, over_limit: 0, ...counted(of) };
    if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, JSON.stringify(of));
  }
});

t.test('an outcome is counted in its own row and leaves `total_hits` alone', async t => {
  const width = RULE_STATS.length;
  const rows = ownTotals(width * 3);
  countOutcome(rows, width, outcome(20, 7, 22));
  countOutcome(rows, width, outcome(20, 1, 23));
  const expected = Array.from({ length: width * 3 }, () => 0);
  expected[width + RULE_STAT.nearLimit] = 4;
  expected[width + RULE_STAT.overLimit] = 3;
  t.strictSame(
    expected.map((_total, slot) => totalOf(rows, slot)),
    expected,
  );
});
