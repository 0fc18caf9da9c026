import t from 'tap';
import { LimitHistory } from '../../../../src/decision/statistics/limit-history.ts';
import { each } from '../../../support/each.ts';
import { rulesOfKeys } from '../../rules/parse/rule-text.ts';

const MINUTE_MS = 60_000;
/** The start of a minute. */
const START_MS = 1_700_000_040_000;

const RULES = rulesOfKeys(['a', 'b', 'c', 'd', 'e', 'f', 'g']);

function hits(all: number, refused = 0): Float64Array {
  return Float64Array.of(all, refused, 0, 0);
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `k${i}`);
}

t.test('each minute has the hits of its samples, and the last one ends with the last sample', async t => {
  const history = new LimitHistory();
  history.begin(RULES, START_MS + 10_000);
  history.add(0, hits(5));
  history.begin(RULES, START_MS + MINUTE_MS);
  history.add(0, hits(1, 1));
  history.begin(RULES, START_MS + 2.5 * MINUTE_MS);
  history.add(0, hits(4));
  t.same(history.pointsOf('d.a'), [
    { atMs: START_MS + MINUTE_MS, seconds: 60, hits: 6, refused: 1, nearLimit: 0, shadowRefused: 0 },
    { atMs: START_MS + 2 * MINUTE_MS, seconds: 60, hits: 0, refused: 0, nearLimit: 0, shadowRefused: 0 },
    { atMs: START_MS + 2.5 * MINUTE_MS, seconds: 30, hits: 4, refused: 0, nearLimit: 0, shadowRefused: 0 },
  ]);
  t.same(history.lastOf('d.a', 'hits', 5), [0, 0, 6, 0, 4]);
  t.same(history.lastOf('d.a', 'refused', 3), [1, 0, 0]);
  t.same(history.lastOf('d.b', 'hits', 3), [0, 0, 0], 'a limit without hits');
});

t.test('minutes older than an hour are forgotten, also by a limit that had hits again', async t => {
  const history = new LimitHistory();
  for (let minute = 1; minute <= 200; minute++) {
    history.begin(RULES, START_MS + minute * MINUTE_MS);
    history.add(0, hits(minute));
    if (minute < 20 || minute > 120) history.add(1, hits(1));
    if (minute === 1 || minute === 59) history.add(2, hits(7));
  }
  const all = history.pointsOf('d.a')!.map(point => point.hits);
  t.same(
    all,
    Array.from({ length: 60 }, (_, i) => 141 + i),
  );
  t.same(new Set(history.pointsOf('d.b')!.map(point => point.hits)), new Set([1]));
  t.same(new Set(history.pointsOf('d.c')!.map(point => point.hits)), new Set([0]));
});

t.test('a pause of less than an hour is minutes without hits', async t => {
  const history = new LimitHistory();
  for (const minute of [1, 2, 50]) {
    history.begin(RULES, START_MS + minute * MINUTE_MS);
    history.add(0, hits(minute));
  }
  history.begin(RULES, START_MS + 70 * MINUTE_MS);
  history.add(0, hits(70));
  const counted = history
    .pointsOf('d.a')!
    .filter(point => point.hits > 0)
    .map(point => [point.atMs - START_MS, point.hits]);
  t.same(counted, [
    [50 * MINUTE_MS, 50],
    [70 * MINUTE_MS, 70],
  ]);
});

t.test('history continues by path when rules are replaced', async t => {
  const history = new LimitHistory();
  history.begin(RULES, START_MS + MINUTE_MS);
  history.add(1, hits(3, 3));
  history.begin(rulesOfKeys(['b', 'other']), START_MS + 2 * MINUTE_MS);
  t.same(history.lastOf('d.b', 'hits', 2), [3, 0]);
  t.equal(history.mostRefused(1).first[0].limit, null, 'its new number is not known before it has hits');
  history.add(0, hits(4, 1));
  t.same(history.lastOf('d.b', 'hits', 2), [3, 4]);
  t.match(history.mostRefused(1).first[0], { path: 'd.b', limit: 0 });
});

t.test('the limits with the most refusals of the hour, and the others together', async t => {
  const history = new LimitHistory();
  history.begin(RULES, START_MS + MINUTE_MS);
  for (let limit = 0; limit < 7; limit++) history.add(limit, hits(10, limit));
  history.begin(RULES, START_MS + 2 * MINUTE_MS);
  history.add(1, hits(100, 50));
  const { all, first, rest } = history.mostRefused(3);
  t.same(
    first.map(({ limit, path, points }) => ({ limit, path, refused: points.map(point => point.refused) })),
    [
      { limit: 1, path: 'd.b', refused: [1, 50] },
      { limit: 6, path: 'd.g', refused: [6, 0] },
      { limit: 5, path: 'd.f', refused: [5, 0] },
    ],
  );
  t.same(
    all.map(point => [point.hits, point.refused]),
    [
      [70, 21],
      [100, 50],
    ],
  );
  t.same(
    rest.map(point => [point.hits, point.refused]),
    [
      [40, 9],
      [0, 0],
    ],
  );
  t.same(
    each(history.mostRefused(9).first, 'path'),
    ['d.b', 'd.g', 'd.f', 'd.e', 'd.d', 'd.c'],
    'no limit without refusals',
  );
});

t.test('a bounded number of limits has a history, and a quarter of it only limits with refusals', async t => {
  const rules = rulesOfKeys(keys(8_300));
  const history = new LimitHistory();
  history.begin(rules, START_MS + MINUTE_MS);
  for (let limit = 0; limit < 6_144; limit++) history.add(limit, hits(1));
  t.same(history.lastOf('d.k8299', 'hits', 1), [0], 'not seen is not the same as not kept');
  for (let limit = 6_144; limit < 8_300; limit++) history.add(limit, hits(1));
  t.same(history.lastOf('d.k6143', 'hits', 1), [1], 'those that came first stay');
  t.equal(history.lastOf('d.k6144', 'hits', 1), null);
  t.equal(history.pointsOf('d.k6144'), null);
  for (let limit = 6_144; limit < 8_300; limit++) history.add(limit, hits(2, 1));
  t.same(history.lastOf('d.k8191', 'refused', 1), [1]);
  t.equal(history.lastOf('d.k8192', 'refused', 1), null);
  t.equal(history.mostRefused(5).all[0].hits, 6_144 + 3 * (8_300 - 6_144), 'all hits are in the sum');

  history.begin(rules, START_MS + 30 * MINUTE_MS);
  history.add(8_192, hits(7, 1));
  history.begin(rules, START_MS + 61 * MINUTE_MS);
  history.add(8_192, hits(9));
  t.same(
    each(history.pointsOf('d.k8192')!, 'hits'),
    [9],
    'after an hour without hits there is room, and what was not kept is not told as 0',
  );
});

t.test('a clock that is set back begins the history anew', async t => {
  const history = new LimitHistory();
  history.begin(RULES, START_MS + 10 * MINUTE_MS);
  history.add(0, hits(5));
  history.begin(RULES, START_MS + MINUTE_MS);
  history.add(0, hits(2));
  t.same(each(history.pointsOf('d.a')!, 'hits'), [2]);
});
