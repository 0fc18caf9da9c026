import t from 'tap';
import { RuleGeneration } from '../../../src/decision/statistics/rule-statistics.ts';
import { type DeskQuestion, type DeskView, lookAtDesk } from '../../../src/quota/desk-view.ts';
import { mergedView } from '../../../src/quota/merged-view.ts';
import type { QuotaDesk } from '../../../src/quota/quota-desk.ts';
import { bucketId, usageReports } from '../../support/quota/model-proxy.ts';
import { Simulation } from '../../support/quota/simulation.ts';
import { compiled } from '../rules/parse/rule-text.ts';

const RULES = `
domain: api
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 600}
  - key: user
    value: banned
    rate_limit: {unit: minute, requests_per_unit: 0}
  - key: tenant
    descriptors:
      - key: plan
        rate_limit: {unit: minute, requests_per_unit: 60}
  - key: watched
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 600}
  - key: slide
    rate_limit: {window: 1m, requests_per_unit: 600, algorithm: sliding_window}
`;

const START_MS = 1_700_000_040_000;

const ALL: DeskQuestion = { domain: null, names: null, most: 100, mostProxies: 10 };

/** Some desks that share counters, and one stream of a proxy to each. */
function desksOf(desks: number) {
  const simulation = new Simulation({
    seed: 1,
    generation: new RuleGeneration(compiled(RULES)),
    entries: [],
    desks,
    proxies: [],
    delayMs: 0,
    startMs: START_MS,
  });
  const report = async (desk: number, usages: readonly Usage[], proxy = '10.0.0.1:4000') => {
    const stream = streamOf(simulation.desks[desk], proxy);
    const id = (name: string, value: string) => bucketId([[name, value]]);
    const list = usages.map(([name, value, allowed, denied]) => ({ id: id(name, value), allowed, denied }));
    simulation.desks[desk].report(stream, usageReports('api', list));
    await simulation.settled();
  };
  const later = async (ms: number) => {
    simulation.clock.advance(ms);
    await simulation.settled();
  };
  const look = (desk: number, question: Partial<DeskQuestion> = {}): Promise<DeskView> =>
    lookAtDesk(simulation.desks[desk], { ...ALL, ...question }, simulation.clock.nowMs());
  return { simulation, report, later, look };
}

type Usage = readonly [key: string, value: string, allowed: number, denied: number];

function streamOf(desk: QuotaDesk, peer: string) {
  return [...desk.streams].find(stream => stream.peer === peer) ?? desk.open(peer, () => {});
}

t.test('a desk without streams has nothing to show', async t => {
  const { look } = desksOf(1);
  const totals = { demand: 0, allowed: 0, denied: 0, buckets: 0, proxies: 0 };
  t.same(await look(0), { streams: 0, totals, buckets: [] });
});

t.test(
  'a bucket shows its limit as it was paid, what is left of it, and what its proxies were granted',
  async t => {
    const { report, later, look } = desksOf(1);
    await report(0, [['user', 'ann', 1, 0]]);
    await later(1_000);
    await report(0, [['user', 'ann', 3, 1]]);
    const { streams, totals, buckets } = await look(0);
    t.equal(streams, 1);
    t.same(totals, { demand: 4, allowed: 3, denied: 1, buckets: 1, proxies: 1 });
    const [{ limits, proxies, ...bucket }] = buckets;
    t.match(bucket, {
      name: '["api",["user","ann"]]',
      domain: 'api',
      entries: [{ key: 'user', value: 'ann' }],
      verdict: 'divided',
      isUnserved: false,
      demand: 4,
      allowed: 3,
      denied: 1,
      cap: bucket.rate,
      retryMs: null,
      proxyCount: 1,
    });
    const [{ paid, spent, unreported, left, ...limit }] = limits;
    t.same(limit, {
      total: 600,
      grantable: 600,
      lengthMs: 60_000,
      window: { fromMs: START_MS, toMs: START_MS + 60_000 },
      paidAhead: 0,
    });
    t.equal(spent, 4);
    t.ok(unreported > 0);
    t.equal(paid, 4 + unreported);
    t.equal(left, 600 - paid);
    const [{ grant, ...proxy }] = proxies;
    t.same(proxy, {
      peer: '10.0.0.1:4000',
      told: 'token_bucket',
      demand: 4,
      allowed: 3,
      denied: 1,
      reportedMs: START_MS + 1_000,
    });
    t.same(grant, {
      // What a new proxy gets is not more than twice what it needs.
      tokens: Math.floor((bucket.rate ?? 0) * bucket.intervalS * 0.25),
      intervalS: bucket.intervalS,
      endMs: START_MS + 1_000 + (bucket.grantS + 1) * 1_000,
    });
  },
);

t.test('what is not divided has no rate and no grants', async t => {
  const { report, look } = desksOf(1);
  await report(0, [
    ['user', 'banned', 0, 1],
    ['watched', 'x', 1, 0],
    ['none', 'x', 1, 0],
  ]);
  const { buckets } = await look(0);
  const shown = new Map(
    buckets.map(bucket => [`${bucket.entries[0].key}=${bucket.entries[0].value}`, bucket]),
  );
  const nothing = { rate: null, cap: null };
  t.match(shown.get('user=banned'), {
    ...nothing,
    verdict: 'deny_all',
    limits: [],
    proxies: [{ told: 'deny_all', grant: null }],
  });
  t.match(shown.get('watched=x'), {
    ...nothing,
    verdict: 'allow_all',
    limits: [{ total: 600, grantable: null, paid: 1 }],
    proxies: [{ told: 'allow_all', grant: null }],
  });
  t.match(shown.get('none=x'), { ...nothing, verdict: 'allow_all', limits: [] });
});

t.test('a bucket has its entries in the order of the rule, whatever that of the proxy is', async t => {
  const { simulation, look } = desksOf(1);
  const [desk] = simulation.desks;
  const id = bucketId([
    ['plan', 'free'],
    ['tenant', 'acme'],
  ]);
  desk.report(streamOf(desk, 'a'), usageReports('api', [{ id, allowed: 1, denied: 0 }]));
  await simulation.settled();
  t.match((await look(0)).buckets, [
    {
      name: '["api",["plan","free"],["tenant","acme"]]',
      entries: [{ key: 'tenant' }, { key: 'plan' }],
      limits: [{ total: 60 }],
    },
  ]);
});

t.test('a limit with a level has no window, and only what is paid ahead', async t => {
  const { report, look } = desksOf(1);
  await report(0, [['slide', 'x', 1, 0]]);
  const [{ limits }] = (await look(0)).buckets;
  t.match(limits, [{ total: 600, window: null, lengthMs: 60_000, spent: null }]);
  const [{ paid, unreported }] = limits;
  t.ok(paid > 0);
  t.equal(paid, unreported, 'what was reported is not known to count still');
});

t.test('the buckets and proxies with the most demand are listed, and all of them are counted', async t => {
  const { report, later, look } = desksOf(1);
  for (const proxy of ['a', 'b', 'c']) await report(0, [['user', 'ann', 1, 0]], proxy);
  await report(0, [['user', 'bob', 1, 0]]);
  await later(1_000);
  await report(0, [['user', 'ann', 1, 0]], 'a');
  await report(0, [['user', 'ann', 2, 0]], 'b');
  await report(0, [['user', 'ann', 1, 0]], 'c');
  await report(0, [['user', 'bob', 3, 0]]);
  const { totals, buckets } = await look(0, { most: 1, mostProxies: 1 });
  t.same(totals, { demand: 7, allowed: 7, denied: 0, buckets: 2, proxies: 4 });
  t.match(buckets, [{ entries: [{ value: 'ann' }], proxyCount: 3, demand: 4 }]);
  t.same(
    buckets[0].proxies.map(({ peer }) => peer),
    ['b'],
  );
  t.match((await look(0, { names: ['["api",["user","bob"]]'] })).totals, { buckets: 1, demand: 3 });
  t.match(await look(0, { domain: 'other' }), { streams: 0, totals: { buckets: 0 }, buckets: [] });
});

t.test('desks of several threads show a bucket once, with the sums of their figures', async t => {
  const { report, later, look } = desksOf(2);
  await report(0, [['user', 'ann', 1, 0]], 'a');
  await report(1, [['user', 'ann', 1, 0]], 'b');
  await later(1_000);
  await report(0, [['user', 'ann', 2, 1]], 'a');
  await report(
    1,
    [
      ['user', 'ann', 4, 0],
      ['user', 'bob', 1, 0],
    ],
    'b',
  );
  const views = [await look(0), await look(1)];
  const merged = mergedView(views, ALL);
  t.equal(merged.streams, 2);
  t.same(merged.totals, { demand: 7, allowed: 6, denied: 1, buckets: 2, proxies: 3 });
  const [ann, bob] = merged.buckets;
  t.match(ann, { demand: 7, allowed: 6, denied: 1, proxyCount: 2, proxies: [{ peer: 'b' }, { peer: 'a' }] });
  const paid = views.map(({ buckets }) => buckets.find(({ name }) => name === ann.name)!.limits[0].paid);
  t.equal(ann.limits[0].paid, paid[0] + paid[1]);
  t.equal(ann.limits[0].left, 600 - paid[0] - paid[1], 'the one that has asked the store last knows best');
  t.same(
    bob,
    views[1].buckets.find(({ name }) => name === bob.name),
  );
  t.equal(mergedView(views, { most: 1, mostProxies: 1 }).buckets.length, 1);
});

t.test('a desk that has paid in the window before adds nothing to the present one', async t => {
  const { report, later, look } = desksOf(2);
  await report(0, [['user', 'ann', 1, 0]], 'a');
  await later(30_000);
  const before = await look(0);
  await later(40_000);
  await report(1, [['user', 'ann', 1, 0]], 'b');
  const now = await look(1);
  const { paid, window } = mergedView([before, now], ALL).buckets[0].limits[0];
  t.equal(paid, now.buckets[0].limits[0].paid);
  t.equal(window?.fromMs, START_MS + 60_000);
});
