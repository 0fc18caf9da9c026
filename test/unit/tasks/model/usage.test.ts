import t from 'tap';
import { placeOfTime, USAGE_FIGURES, UsageSum } from '../../../../src/tasks/model/usage.ts';

/** A sum with these durations. */
function durations(...ms: readonly number[]): UsageSum {
  const sum = new UsageSum();
  for (const each of ms) sum.add(placeOfTime('duration', each), 1);
  return sum;
}

t.test('a percentile is at most a fifth away from the true one, from a millisecond to a day', async t => {
  for (let ms = 2; ms < 100_000_000; ms = Math.ceil(ms * 1.3)) {
    const found = durations(ms, ms, ms).percentile('duration', 0.95)!;
    t.ok(Math.abs(found - ms) <= 0.2 * ms + 1, `${ms} ms: ${found}`);
  }
  const spread = durations(...Array.from({ length: 1_000 }, (_, i) => 10 * (i + 1)));
  for (const share of [0.05, 0.5, 0.95, 1]) {
    const found = spread.percentile('duration', share)!;
    t.ok(Math.abs(found / (10_000 * share) - 1) < 0.2, `${share}: ${found}`);
  }
});

t.test('times that are unusual have a bucket, and none has no percentile', async t => {
  t.equal(new UsageSum().percentile('duration', 0.5), null);
  t.equal(durations(7).percentile('lag', 0.5), null);
  for (const ms of [-5, 0, 0.2, 1]) t.equal(placeOfTime('duration', ms), placeOfTime('duration', 0));
  t.ok(durations(0).percentile('duration', 0.95)! <= 1);
  const longest = placeOfTime('lag', Number.MAX_SAFE_INTEGER);
  t.equal(longest, USAGE_FIGURES - 1);
  t.equal(new UsageSum().addAll([longest, 1]).percentile('lag', 0.5), 2 ** 27);
});

t.test('sums have only the figures that are not 0, in order', async t => {
  const sum = durations(1_000).addAll([3, 2, 0, 1]).addAll([0, 1]);
  t.strictSame(sum.pairs(), [0, 2, 3, 2, placeOfTime('duration', 1_000), 1]);
  t.equal(sum.count('created'), 2);
});
