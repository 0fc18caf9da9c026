import type { Test } from 'tap';
import { RuleRates, WATCHED_SAMPLE_MS } from '../../../../../src/decision/statistics/rule-rates.ts';
import {
  ROW_SLOTS,
  RuleGeneration,
  RuleStatistics,
} from '../../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../../src/decision/statistics/shared-totals.ts';
import { compileRules } from '../../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../../src/rules/compiled-rules.ts';
import { RULE_STAT } from '../../../../../src/stats/names.ts';
import { limitsRoutes } from '../../../../../src/transports/debug/operator/limits-routes.ts';
import { ratesRoutes } from '../../../../../src/transports/debug/operator/rates-routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { load } from '../../../rules/parse/rule-text.ts';
import { onEachEngine } from '../../http/on-each-engine.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: path
    value: /Search
    shadow_mode: true
    rate_limit: {window: 5m, requests_per_unit: 100, algorithm: sliding_window, name: search}
  - key: vip
    rate_limit: {unlimited: true}
`;

async function served(t: Test, text: string | null) {
  const clock = new ManualClock(1_700_000_000_000);
  const statistics = new RuleStatistics();
  const rules = text === null ? null : new RuleGeneration(new CompiledRules(compileRules(load(text))));
  if (rules !== null) statistics.publish(rules);
  const rates = new RuleRates(statistics, clock);
  await rates.start();
  t.teardown(() => rates.stop());
  const operator = operatorApi({ routes: [...limitsRoutes(rates), ...ratesRoutes(rates)], clock });
  const get = askingOperator(await startedDebugServer(t, clock, { operator }));
  const count = (limit: number, stat: keyof typeof RULE_STAT, hits: number): void =>
    addTotal(rules!.statistics, limit * ROW_SLOTS + RULE_STAT[stat], hits);
  const fill = (limit: number, share: number, forS: number): void => {
    const word = (limit * ROW_SLOTS + ROW_SLOTS - 1) * 2;
    rules!.shares[word] = share;
    rules!.statistics[word + 1] = clock.nowMs() / 1_000 + forS;
  };
  return { get, count, fill, clock };
}

onEachEngine('a limit is told with its window in words, modes, totals and rates', async t => {
  const { get, count, clock } = await served(t, RULES);
  await get('/limits');
  count(1, 'totalHits', 30);
  count(1, 'overLimit', 6);
  count(1, 'shadowMode', 6);
  clock.advance(WATCHED_SAMPLE_MS);
  const { status, json } = await get('/limits?sort=rules');
  t.equal(status, 200);
  t.equal(json.total, 3);
  t.match(json.limits[0], {
    number: 0,
    domain: 'shop',
    path: 'shop.user',
    meaning: 'at most 20 in each minute',
    requests_per_unit: 20,
    unit: 'MINUTE',
    algorithm: 'fixed_window',
    statistics: 'ratelimit.service.rate_limit.shop.user',
    totals: { hits: 0, refused: 0, near_limit: 0, shadow_refused: 0 },
  });
  t.match(json.limits[1], {
    path: 'shop.path_/Search',
    name: 'search',
    window: '5m',
    algorithm: 'sliding_window',
    shadow_mode: true,
    totals: { hits: 30, refused: 0, shadow_refused: 6 },
    per_second: { hits: 15, refused: 0, shadow_refused: 3 },
    last_hour: { hits: 30 },
  });
  t.match(json.limits[2], { path: 'shop.vip', meaning: 'unlimited', unlimited: true });
  const { history, entries, place, resource, overlay, definition, ...limit } = (await get('/limits/1')).json;
  t.same(limit, json.limits[1]);
  t.equal(history.seconds, 60);
  t.same(
    { place, resource, overlay },
    { place: { file: 'rules.yaml', line: 6 }, resource: null, overlay: null },
  );
  t.same(entries, [{ key: 'path', value: '/Search' }]);
  t.match(definition, /^domain: shop\ndescriptors:\n {2}- key: path\n {4}value: \/Search\n {4}rate_limit:\n/);
  t.equal((await get('/limits/3')).status, 404);
  t.equal((await get('/limits/x')).status, 404);
});

onEachEngine('without rules, the answer is a problem that says so', async t => {
  const { get } = await served(t, null);
  t.match(await get('/limits'), { status: 503, json: { code: 'no_rules' } });
  t.match(await get('/rates'), { status: 200, json: { points: [] } });
});

onEachEngine('limits are found by a part of their path, and sorted by figures, path or rules', async t => {
  const { get, count, fill } = await served(t, RULES);
  count(0, 'totalHits', 5);
  count(0, 'nearLimit', 1);
  count(2, 'totalHits', 9);
  const paths = async (query: string) =>
    (await get(`/limits?${query}`)).json.limits.map(({ path }: { path: string }) => path);
  t.same(await paths('q=SEARCH'), ['shop.path_/Search']);
  t.same(await paths('domain=shop&q=ser'), ['shop.user']);
  t.same(await paths('path=shop.user'), ['shop.user']);
  t.same(await paths('path=shop.use'), []);
  t.same(await paths('domain=sho'), []);
  t.same(await paths('sort=hits'), ['shop.vip', 'shop.user', 'shop.path_/Search']);
  t.same(await paths('sort=near_limit'), ['shop.user', 'shop.path_/Search', 'shop.vip']);
  t.same(await paths('sort=path'), ['shop.path_/Search', 'shop.user', 'shop.vip']);
  fill(0, 0.93, 30);
  fill(1, 1.04, 30);
  t.same(await paths('sort=fullest'), ['shop.path_/Search', 'shop.user', 'shop.vip']);
  t.match(await get('/limits?sort=size'), {
    status: 400,
    json: { errors: [{ parameter: 'sort', detail: /must be one of: refused,/ }] },
  });
});

onEachEngine(
  'pages of a hundred thousand limits continue each other, and other requests are answered between',
  async t => {
    const entries = Array.from(
      { length: 100_000 },
      (_, i) => `  - key: k${i}\n    rate_limit: {unit: day, requests_per_unit: 1}\n`,
    );
    const { get, count, fill } = await served(t, `domain: d\ndescriptors:\n${entries.join('')}`);
    for (let i = 0; i < 10; i++) count(i * 10_000, 'totalHits', i + 1);
    let isListed = false;
    const list = get('/limits?sort=hits&count=4').then(answer => {
      isListed = true;
      return answer;
    });
    await get('/openapi.json');
    t.notOk(isListed, 'a short request is not behind a long one');
    const { json } = await list;
    t.equal(json.total, 100_000);
    const next = await get('/limits?sort=hits&count=4&offset=4');
    t.same(
      [...json.limits, ...next.json.limits].map(({ totals }) => totals.hits),
      [10, 9, 8, 7, 6, 5, 4, 3],
    );
    for (const [limit, share] of [
      [70_000, 0.5],
      [99_999, 2],
      [3, 0.9],
    ] as const)
      fill(limit, share, 60);
    const fullest = await get('/limits?sort=fullest&count=4');
    t.same(
      fullest.json.limits.map(({ number }: { number: number }) => number),
      [99_999, 3, 70_000, 0],
    );
    const found = await get('/limits?q=k9999&sort=path&count=3');
    t.equal(found.json.total, 11);
    t.same(
      found.json.limits.map(({ path }: { path: string }) => path),
      ['d.k9999', 'd.k99990', 'd.k99991'],
    );
  },
);

onEachEngine('the minutes of the last hour, of a limit and as curves in the list', async t => {
  const { get, count, clock } = await served(t, RULES);
  await get('/limits');
  clock.advance(40_000);
  count(0, 'totalHits', 30);
  count(0, 'overLimit', 10);
  await get('/limits');
  clock.advance(40_000);
  count(0, 'totalHits', 5);
  const { json } = await get('/limits/0');
  const none = { near_limit: 0, shadow_refused: 0 };
  t.same(json.history, {
    seconds: 60,
    points: [
      { time: '2023-11-14T22:14:00.000Z', seconds: 60, hits: 30, refused: 10, ...none },
      { time: '2023-11-14T22:14:40.000Z', seconds: 40, hits: 5, refused: 0, ...none },
    ],
  });
  const [limit] = (await get('/limits?sort=hits')).json.limits;
  t.same(limit.spark, [...Array(18).fill(0), 30, 5]);
  t.same(limit.refused_spark, [...Array(18).fill(0), 10, 0]);
});

onEachEngine('the fullest key of a limit has its share and its hits, while they count', async t => {
  const { get, fill, clock } = await served(t, RULES);
  const fullest = async () =>
    (await get('/limits?sort=rules')).json.limits.map(({ fullest }: { fullest: unknown }) => fullest);
  t.same(await fullest(), [null, null, null]);
  fill(0, 1.25, 61);
  fill(1, -0.5, 60);
  t.same(await fullest(), [
    { share: 1.25, count: 25, most: 20 },
    { share: 0.5, count: null, most: 100 },
    null,
  ]);
  clock.advance(60_000);
  t.same(await fullest(), [{ share: 1.25, count: 25, most: 20 }, null, null]);
});

onEachEngine('rates by limit are those that refused the most, and the rest together', async t => {
  const { get, count, clock } = await served(t, RULES);
  const none = { hits: 0, refused: 0, near_limit: 0, shadow_refused: 0 };
  const points = [{ time: '2023-11-14T22:13:20.000Z', seconds: 20, ...none }];
  t.same((await get('/rates?by=limit')).json, { points, limits: [], rest: { points } });
  clock.advance(30_000);
  count(0, 'totalHits', 30);
  count(0, 'overLimit', 10);
  count(2, 'totalHits', 7);
  const { json } = await get('/rates?by=limit');
  t.match(json.points, [{ hits: 37, refused: 10 }]);
  t.match(json.limits, [{ number: 0, path: 'shop.user', points: [{ hits: 30, refused: 10 }] }]);
  t.match(json.rest.points, [{ hits: 7, refused: 0 }]);
  t.match(await get('/rates?by=domain'), { status: 400, json: { errors: [{ parameter: 'by' }] } });
});
