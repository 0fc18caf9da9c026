import t, { type Test } from 'tap';
import { RuleRates, SAMPLE_MS, WATCHED_SAMPLE_MS } from '../../../../src/decision/statistics/rule-rates.ts';
import {
  ROW_SLOTS,
  RuleGeneration,
  RuleStatistics,
} from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';
import { rulesOfKeys } from '../../rules/parse/rule-text.ts';

const NONE = { hits: 0, refused: 0, nearLimit: 0, shadowRefused: 0 };

/** Rules with a limit for each key, and the statistics to count under them. */
const generation = (keys: readonly string[]) => new RuleGeneration(rulesOfKeys(keys));

function count(
  { statistics }: RuleGeneration,
  limit: number,
  stat: keyof typeof RULE_STAT,
  hits: number,
): void {
  addTotal(statistics, limit * ROW_SLOTS + RULE_STAT[stat], hits);
}

async function rates(t: Test, keys: readonly string[]) {
  const clock = new ManualClock(1_000_000);
  const statistics = new RuleStatistics();
  const rules = generation(keys);
  statistics.publish(rules);
  const rates = new RuleRates(statistics, clock);
  await rates.start();
  t.teardown(() => rates.stop());
  return { clock, statistics, rules, rates };
}

t.test('totals, hits per second since the sample before, and hits of the last hour', async t => {
  const { clock, rules, rates: sampled } = await rates(t, ['a', 'b']);
  count(rules, 0, 'totalHits', 100);
  const first = (await sampled.look())!;
  t.same(first.totals(0), { ...NONE, hits: 100 });
  t.same(first.perSecond(0), NONE, 'what was counted before is no burst');
  t.same(first.lastHour(0), NONE);
  count(rules, 0, 'totalHits', 40);
  count(rules, 0, 'overLimit', 10);
  count(rules, 0, 'shadowMode', 4);
  count(rules, 0, 'nearLimit', 2);
  clock.advance(WATCHED_SAMPLE_MS);
  const second = (await sampled.look())!;
  t.same(second.totals(0), { hits: 140, refused: 6, nearLimit: 2, shadowRefused: 4 });
  t.same(second.perSecond(0), { hits: 20, refused: 3, nearLimit: 1, shadowRefused: 2 });
  t.same(second.lastHour(0), { hits: 40, refused: 6, nearLimit: 2, shadowRefused: 4 });
  t.same(second.totals(1), NONE);
});

t.test('refusals that are counted long after their hits, because the store is slow, are found', async t => {
  const { clock, rules, rates: sampled } = await rates(t, ['a']);
  await sampled.look();
  count(rules, 0, 'totalHits', 10);
  for (let looks = 0; looks < 3; looks++) {
    clock.advance(WATCHED_SAMPLE_MS);
    await sampled.look();
  }
  count(rules, 0, 'overLimit', 4);
  clock.advance(SAMPLE_MS);
  const found = (await sampled.look())!;
  t.same(found.totals(0), { ...NONE, hits: 10, refused: 4 });
  t.equal(found.perSecond(0).refused, (4 * 1_000) / SAMPLE_MS);
  clock.advance(WATCHED_SAMPLE_MS);
  t.same((await sampled.look())!.perSecond(0), NONE);
});

t.test('hits older than an hour leave the last hour', async t => {
  const { clock, rules, rates: sampled } = await rates(t, ['a']);
  await sampled.look();
  count(rules, 0, 'totalHits', 7);
  for (let minute = 0; minute < 80; minute++) {
    clock.advance(60_000);
    await sampled.look();
    if (minute === 0) t.equal((await sampled.look())!.lastHour(0).hits, 7);
  }
  const view = (await sampled.look())!;
  t.equal(view.lastHour(0).hits, 0);
  t.ok(view.hourSeconds >= 3_600 && view.hourSeconds <= 4_200, `${view.hourSeconds} s are kept`);
  t.equal(view.totals(0).hits, 7);
});

t.test('the hits of all limits together, in intervals of ten seconds', async t => {
  const { clock, rules, rates: sampled } = await rates(t, ['a', 'b']);
  await sampled.look();
  for (let second = 1; second <= 40; second++) {
    count(rules, 0, 'totalHits', 3);
    count(rules, 1, 'totalHits', 2);
    clock.advance(1_000);
    await sampled.look();
  }
  const shown = sampled.points.map(({ hits, seconds }) => ({ hits, seconds }));
  t.same(shown, Array(4).fill({ hits: 50, seconds: 10 }));
});

t.test('samples are taken also while nobody looks', async t => {
  const { clock, rules, rates: sampled } = await rates(t, ['a']);
  clock.advance(SAMPLE_MS);
  await until(() => clock.pendingDelaysMs[0] === SAMPLE_MS);
  count(rules, 0, 'totalHits', 70);
  clock.advance(SAMPLE_MS);
  t.equal((await sampled.look())!.perSecond(0).hits, 7);
});

t.test('after a load of rules, totals are kept by name, and are no burst', async t => {
  const { clock, statistics, rules, rates: sampled } = await rates(t, ['a', 'b']);
  count(rules, 1, 'totalHits', 500);
  await sampled.look();
  const next = generation(['new', 'b']);
  statistics.publish(next);
  clock.advance(WATCHED_SAMPLE_MS);
  const view = (await sampled.look())!;
  t.equal(view.rules, next.rules);
  t.equal(view.totals(1).hits, 500);
  t.same(view.perSecond(1), NONE);
});

t.test('limits with the same name show the same figures', async t => {
  const { rules, rates: sampled } = await rates(t, ['a:1', 'a|1']);
  count(rules, 0, 'totalHits', 2);
  count(rules, 1, 'totalHits', 3);
  const view = (await sampled.look())!;
  t.equal(view.totals(0).hits, 5);
  t.equal(view.totals(1).hits, 5);
});

t.test('before the first load there is nothing to see', async t => {
  const sampled = new RuleRates(new RuleStatistics(), new ManualClock(0));
  t.equal(await sampled.look(), null);
  await sampled.stop();
});
