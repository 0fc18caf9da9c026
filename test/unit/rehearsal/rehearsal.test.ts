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
import { Decisions } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
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
    rate_limit: {unit: minute, requests_per_unit: 5}
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
    rate_limit: {unit: second, requests_per_unit: 2, burst: 6, algorithm: token_bucket}
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
}

function site(
  active: string,
  candidate: string,
  { share = 1, options = {} }: { share?: number; options?: Partial<EngineOptions> } = {},
): Site {
  const files = [{ name: 'shop.yaml', content: Buffer.from(candidate) }];
  const rules = new CompiledRules(compileRules(loadRuleSet(files, { mergeDomains: false }), 0));
  const rehearsal = Rehearsal.begin(1, rules, share);
  const observer = new RehearsalObserver({
    source: { current: rehearsal },
    options: { ...OPTIONS, ...options },
    fingerprintKey: TEST_FINGERPRINT_KEY,
    steering: null,
  });
  const store = new EmbeddedCounterStore(CounterTable.create(65_536));
  return { decisions: new Decisions({ store, rules: active, options, observers: [observer] }), rehearsal };
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

/** Requests of a few minutes with skewed keys, several descriptors and different hits; the same for the same seed. */
async function replay({ decisions }: Site, seed: number, requests = 3_000): Promise<void> {
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
        'shadowed',
        'both',
        'gone',
        'none',
      ]);
      const entries = [{ key, value: key === 'path' ? random.pick(['/slow', '/a', '/b']) : value(key) }];
      if (key === 'user' && random.below(3) === 0) entries.push({ key: 'plan', value: 'free' });
      descriptors.push({ entries, limit: null, hitsAddend: random.pick([null, null, 2]) });
    }
    await decisions.ask({ domain: 'shop', descriptors, hitsAddend: 0 });
  }
}

/** The figures by the path of the limit. */
async function figures({ rehearsal }: Site): Promise<Map<string, ComparedHits>> {
  const { limits } = await reportOf(rehearsal, 500);
  return new Map(limits.map(({ limit, hits }) => [limit < 0 ? '' : rehearsal.rules.path(limit), hits]));
}

async function forecastIsTheOutcome(t: Test, options: Partial<EngineOptions>): Promise<void> {
  const before = site(ACTIVE, CANDIDATE, { options });
  const after = site(CANDIDATE, CANDIDATE, { options });
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

t.test('also when hits are held back', t => forecastIsTheOutcome(t, { holdBack: true }));

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
  await ask('user', 'ann', 8);
  await ask('user', 'bob', 2);
  await ask('gone', 'x', 5);
  const found = await figures(here);
  t.same(found.get('shop.user'), { hits: 10, rejected: 3, today: 0, more: 3, fewer: 0 });
  t.same(found.get(''), { hits: 5, rejected: 0, today: 2, more: 0, fewer: 2 });
  const { total, limits, keys } = await reportOf(here.rehearsal, 1);
  t.same(total, { hits: 15, rejected: 3, today: 2, more: 3, fewer: 2 });
  t.equal(limits.length, 1, 'the limits that change the most');
  t.match(keys, [
    { isRejected: true, key: 'user=ann', domain: 'shop', entries: [{ key: 'user', value: 'ann' }], count: 3 },
    { isRejected: false, key: 'gone=x', count: 2, limit: -1 },
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
  const keys = 2_000;
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
    hits: 14_000,
    rejected: 4_000,
    today: 0,
    more: 4_000,
    fewer: 0,
  });
  const { hits, more } = (await figures(sampled)).get('shop.user') as ComparedHits;
  // Four standard deviations of the number of chosen keys.
  const bound = 4 * Math.sqrt(keys * 0.25 * 0.75) * 4;
  t.ok(Math.abs(hits - 14_000) < bound * 7, `${hits} hits`);
  t.equal(more * 7, hits * 2, 'the counters of the chosen keys are complete');
});

t.test('another thread shares the rehearsal', async t => {
  const here = site(ACTIVE, CANDIDATE);
  const there = Rehearsal.attach(here.rehearsal.shared);
  await replay(here, 7, 200);
  const [own, other] = [await reportOf(here.rehearsal, 50), await reportOf(there, 50)];
  t.same(other, own);
  t.ok(own.total.more > 0 && own.keys.length > 0);
});
