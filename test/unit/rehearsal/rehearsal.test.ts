import t, { type Test } from 'tap';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import type { ComparedHits } from '../../../src/rehearsal/comparison.ts';
import { Rehearsal } from '../../../src/rehearsal/rehearsal.ts';
import { RehearsalObserver } from '../../../src/rehearsal/rehearsal-observer.ts';
import { reportOf } from '../../../src/rehearsal/report.ts';
import { compileRules } from '../../../src/rules/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../../src/rules/parse/load.ts';
import { SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import { type DecisionSetup, Decisions, request } from '../../support/decisions.ts';
import { heldMemory } from '../../support/memory.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { TEST_FINGERPRINT_KEY } from '../../support/stores.ts';

const ACTIVE = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: path
    rate_limit: {unit: second, requests_per_unit: 30}
  - key: gone
    rate_limit: {unit: minute, requests_per_unit: 3}
`;

const CANDIDATE = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5, penalty: {after: 2, for: 90s, factor: 2, max: 10m}}
    descriptors:
      - key: plan
        value: free
        rate_limit: {name: free, unit: minute, requests_per_unit: 4, replaces: [{name: paths}]}
  - key: path
    rate_limit: {name: paths, unit: second, requests_per_unit: 40}
  - key: path
    value: /slow
    rate_limit: {window: 30s, requests_per_unit: 7, algorithm: sliding_window}
  - key: bucket
    detailed_metric: true
    rate_limit: {unit: second, requests_per_unit: 2, burst: 6, algorithm: token_bucket}
  - key: file
    value: /s*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 30}
  - key: second
    rate_limit: {unit: second, requests_per_unit: 2}
  - key: shadowed
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: both
    rate_limits:
      - {name: short, unit: second, requests_per_unit: 3}
      - {name: long, unit: minute, requests_per_unit: 25}
`;

interface Site {
  readonly decisions: Decisions;
  readonly rehearsal: Rehearsal;
  /** Where the observer finds the rehearsal. */
  readonly source: { current: Rehearsal | null };
}

interface SiteOptions extends Pick<DecisionSetup, 'localCacheBytes' | 'steering'> {
  readonly share?: number;
  readonly options?: Partial<EngineOptions>;
}

function site(
  active: string,
  candidate: string,
  { share = 1, options = {}, localCacheBytes = 0, steering }: SiteOptions = {},
): Site {
  const files = [{ name: 'shop.yaml', content: Buffer.from(candidate) }];
  const rules = new CompiledRules(compileRules(loadRuleSet(files, { mergeDomains: false })));
  const rehearsal = Rehearsal.begin(1, rules, share);
  const source: { current: Rehearsal | null } = { current: rehearsal };
  const observer = new RehearsalObserver(
    { options: { ...OPTIONS, ...options }, fingerprintKey: TEST_FINGERPRINT_KEY, localCacheBytes },
    source,
    steering === undefined ? null : new SharedRecordsReader(steering),
  );
  const store = new EmbeddedCounterStore(CounterTable.create(65_536));
  const setup = { store, rules: active, options, localCacheBytes, observers: [observer] };
  const decisions = new Decisions({ ...setup, ...(steering !== undefined && { steering }) });
  return { decisions, rehearsal, source };
}

const OPTIONS: EngineOptions = {
  cacheKeyPrefix: '',
  expirationJitterMaxSeconds: 0,
  nearLimitRatio: 0.8,
  holdBack: false,
  modes: { shadow: false, quota: false },
  headerNames: null,
  dynamicMetadata: false,
};

/**
 * Requests of a few minutes with skewed keys, several descriptors, different hits, refunds and limits of their own; the same
 * for the same seed.
 */
async function replay({ decisions }: Site, seed: number, requests = 1_500): Promise<void> {
  const random = new SeededRandom(seed);
  const value = (key: string) => `${key}${Math.floor(random.next() ** 3 * 12)}`;
  for (let i = 0; i < requests; i++) {
    decisions.clock.advance(random.below(120));
    const descriptors: RateLimitRequest['descriptors'][number][] = [];
    for (let n = 1 + random.below(3); n > 0; n--) {
      const key = random.pick([
        'user',
        'user',
        'path',
        'bucket',
        'second',
        'file',
        'shadowed',
        'both',
        'gone',
        'none',
      ]);
      const isPath = key === 'path' || key === 'file';
      const entries = [{ key, value: isPath ? random.pick(['/slow', '/small', '/a', '/b']) : value(key) }];
      if (key === 'user' && random.below(3) === 0) entries.push({ key: 'plan', value: 'free' });
      const isNegativeHits = random.below(12) === 0;
      const limit = random.below(20) === 0 ? { requestsPerUnit: random.below(5), unit: 2 } : null;
      descriptors.push({ entries, limit, hitsAddend: random.pick([null, null, 2, 0]), isNegativeHits });
    }
    const domain = random.below(40) === 0 ? 'unknown' : 'shop';
    await decisions.ask({ domain, descriptors, hitsAddend: random.pick([0, 0, 3]) });
  }
}

/** The figures by the path of the limit. */
async function figures({ rehearsal }: Site): Promise<Map<string, ComparedHits>> {
  const { limits } = await reportOf(rehearsal, 500);
  return new Map(limits.map(({ limit, hits }) => [limit < 0 ? '' : rehearsal.rules.path(limit), hits]));
}

async function forecastIsTheOutcome(t: Test, options: SiteOptions): Promise<void> {
  const before = site(ACTIVE, CANDIDATE, options);
  const after = site(CANDIDATE, CANDIDATE, options);
  await replay(before, 42);
  await replay(after, 42);
  const [forecast, outcome] = [await figures(before), await figures(after)];
  t.ok(forecast.size >= 8, 'every limit had hits');
  for (const [path, { hits, rejected }] of outcome) {
    const told = forecast.get(path);
    t.equal(told?.hits, hits, `${path}: hits`);
    t.equal(told?.rejected, outcome.get(path)?.today, `${path}: rejected`);
    t.equal(rejected, outcome.get(path)?.today, `${path}: the same rules agree`);
    t.match(outcome.get(path), { more: 0, fewer: 0 });
  }
  const rejecting = [...forecast.values()].filter(({ rejected }) => rejected > 0);
  t.ok(rejecting.length >= 5, 'most limits rejected something');
}

t.test('the forecast is what the rules reject when they are active', t => forecastIsTheOutcome(t, {}));

t.test('also when hits are held back', t => forecastIsTheOutcome(t, { options: { holdBack: true } }));

t.test('also with a local cache', async t => {
  await forecastIsTheOutcome(t, { localCacheBytes: 1_000_000 });
  await forecastIsTheOutcome(t, { localCacheBytes: 1_000_000, options: { holdBack: true } });
});

t.test('it tells what would change, for each limit, and for which keys', async t => {
  const here = site(ACTIVE, CANDIDATE);
  const ask = async (key: string, value: string, times: number) => {
    for (let i = 0; i < times; i++) {
      const entries = [{ key, value }];
      await here.decisions.ask({
        domain: 'shop',
        descriptors: [{ entries, limit: null, hitsAddend: null }],
        hitsAddend: 0,
      });
    }
  };
  await ask('user', 'ann', 7);
  await ask('user', 'somebody else', 6);
  await ask('user', 'ann', 1);
  await ask('user', 'bob', 2);
  await ask('gone', 'x', 5);
  const found = await figures(here);
  t.same(found.get('shop.user'), { hits: 16, rejected: 4, today: 0, more: 4, fewer: 0 });
  t.same(found.get(''), { hits: 5, rejected: 0, today: 2, more: 0, fewer: 2 });
  const { total, limits, keys } = await reportOf(here.rehearsal, 1);
  t.same(total, { hits: 21, rejected: 4, today: 2, more: 4, fewer: 2 });
  t.equal(limits.length, 1, 'the limits that change the most');
  t.match(keys, [
    { isRejected: true, key: 'user=ann', domain: 'shop', entries: [{ key: 'user', value: 'ann' }], count: 3 },
    { isRejected: false, key: 'gone=x', count: 2, limit: -1 },
    { isRejected: true, key: 'user=somebody else', count: 1 },
  ]);
});

t.test('requests that are not decided are not rehearsed, and refunds are not compared', async t => {
  const here = site(ACTIVE, CANDIDATE);
  const entries = [{ key: 'user', value: 'ann' }];
  const bad = { domain: '', descriptors: [{ entries, limit: null, hitsAddend: null }], hitsAddend: 0 };
  await here.decisions.ask(bad).catch(() => {});
  t.equal((await figures(here)).size, 0);
});

t.test('a share of the keys stands for all of them', async t => {
  const whole = site(ACTIVE, CANDIDATE);
  const sampled = site(ACTIVE, CANDIDATE, { share: 0.25 });
  const keys = 500;
  for (const { decisions } of [whole, sampled]) {
    for (let key = 0; key < keys; key++) {
      for (let i = 0; i < 7; i++) {
        const entries = [{ key: 'user', value: `u${key}` }];
        await decisions.ask({
          domain: 'shop',
          descriptors: [{ entries, limit: null, hitsAddend: null }],
          hitsAddend: 0,
        });
      }
    }
  }
  t.same((await figures(whole)).get('shop.user'), {
    hits: 7 * keys,
    rejected: 2 * keys,
    today: 0,
    more: 2 * keys,
    fewer: 0,
  });
  const { hits, more } = (await figures(sampled)).get('shop.user') as ComparedHits;
  // Four standard deviations of the number of chosen keys.
  const bound = 4 * Math.sqrt(keys * 0.25 * 0.75) * 4;
  t.ok(Math.abs(hits - 7 * keys) < bound * 7, `${hits} hits`);
  t.equal(more * 7, hits * 2, 'the counters of the chosen keys are complete');
});

/** Asks with one request for descriptors `key=value`. */
function askFor({ decisions }: Site, ...texts: string[]): Promise<unknown> {
  return decisions.ask(request('shop', ...texts));
}

t.test('of values that share a counter, a share of the keys has all or none', async t => {
  const rules = `
domain: shop
descriptors:
  - key: path
    value: /a*
    share_threshold: true
    rate_limit: {unit: year, requests_per_unit: 100}
`;
  for (const share of [0.05, 0.5, 0.95]) {
    const here = site(rules, rules, { share });
    for (let i = 0; i < 200; i++) await askFor(here, `path=/a${i}`);
    const { total } = await reportOf(here.rehearsal, 1);
    const scaled = { hits: 200, rejected: 100, today: 100, more: 0, fewer: 0 };
    const all = Object.fromEntries(
      Object.entries(scaled).map(([name, hits]) => [name, Math.round(hits / share)]),
    );
    t.same(total, total.hits === 0 ? { hits: 0, rejected: 0, today: 0, more: 0, fewer: 0 } : all, `${share}`);
  }
});

t.test('in a share of the keys, what others of a request do to a key is the same', async t => {
  const replaced = `
domain: shop
descriptors:
  - key: plan
    rate_limit: {name: plan, unit: year, requests_per_unit: 1000, replaces: [{name: user}]}
  - key: user
    rate_limit: {name: user, unit: year, requests_per_unit: 1}
`;
  const here = site(replaced, replaced, { share: 0.2 });
  for (let i = 0; i < 300; i++) await askFor(here, `plan=${i % 7}`, `user=${i % 50}`);
  t.match((await reportOf(here.rehearsal, 1)).total, { rejected: 0, today: 0 }, 'a limit is replaced');

  const steering = sharedRecords(record('ban', 'ip=bad', { domain: 'shop' })).buffer;
  const user = 'domain: shop\ndescriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 1}}]\n';
  const banned = site(user, user, { share: 0.2, steering });
  for (let i = 0; i < 300; i++) await askFor(banned, 'ip=bad', `user=${i % 50}`);
  const { limits } = await reportOf(banned.rehearsal, 5);
  t.same(
    limits.filter(({ limit }) => limit >= 0),
    [],
    'a banned request is not counted',
  );
});

t.test('the memory of a rehearsal is released by the next batch after its end', async t => {
  let here: Site | null = site(ACTIVE, CANDIDATE);
  const { decisions, source } = here;
  await askFor(here, 'user=ann');
  const rehearsal = new WeakRef(here.rehearsal);
  here = null;
  source.current = null;
  await heldMemory();
  t.ok(rehearsal.deref() !== undefined);
  await decisions.ask(request('shop', 'user=ann'));
  await heldMemory();
  t.ok(rehearsal.deref() === undefined);
});

t.test('another thread shares the rehearsal', async t => {
  const here = site(ACTIVE, CANDIDATE);
  const there = Rehearsal.attach(here.rehearsal.shared);
  await replay(here, 7, 200);
  const [own, other] = [await reportOf(here.rehearsal, 50), await reportOf(there, 50)];
  t.same(other, own);
  t.ok(own.total.more > 0 && own.keys.length > 0);
});
