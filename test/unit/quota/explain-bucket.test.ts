import t from 'tap';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import { BucketExplainer } from '../../../src/quota/explain-bucket.ts';
import { TEST_FINGERPRINT_KEY } from '../../support/stores.ts';
import { compiled } from '../rules/parse/rule-text.ts';

const RULES = compiled(`
domain: api
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 6000}
    quota: {share: 50%, for: 20s}
    descriptors:
      - key: plan
        rate_limits:
          - {unit: minute, requests_per_unit: 600}
          - {unit: day, requests_per_unit: 60000}
  - key: user
    value: blocked
    rate_limit: {unit: minute, requests_per_unit: 0}
  - key: user
    value: free
    rate_limit: {unlimited: true}
  - key: watched
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: strict
    rate_limit: {unit: minute, requests_per_unit: 5, penalty: {after: 2, for: 1h}}
  - key: a
    descriptors: [{key: b, rate_limit: {unit: minute, requests_per_unit: 5}}]
  - key: b
    descriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 5}}]
`);

const NOW_MS = 1_700_000_040_000;

const store = new EmbeddedCounterStore(CounterTable.create(1_000));

function explainerOf(isShadow = false): BucketExplainer {
  const parts = { store, cacheKeyPrefix: '', fingerprintKey: TEST_FINGERPRINT_KEY, steering: null };
  return new BucketExplainer({ ...parts, rules: () => RULES, isShadow });
}

function explained(text: string, explainer = explainerOf()) {
  const entries = text.split(',').map(pair => {
    const [key, value] = pair.split('=');
    return { key, value };
  });
  return explainer.explain('api', entries, NOW_MS);
}

t.test(
  'limits that can be divided have a rate, which is the share of the limit over the time of a grant',
  async t => {
    const { limits, ...rest } = explained('user=ann')!;
    t.match(rest, { verdict: 'divided', reason: 'divided', grantS: 20 });
    t.match(limits, [{ total: 6_000, grantable: 3_000, lengthMs: 60_000 }]);
    // A grant reaches its length, two intervals of 1 s, and the time of two messages.
    t.equal(rest.rate, 3_000 / (20 + 2 + 2));
  },
);

t.test('of several limits, the one with the lowest rate decides', async t => {
  const { limits, rate, grantS } = explained('plan=x,user=ann')!;
  t.equal(limits.length, 2);
  t.equal(grantS, 10);
  t.equal(rate, 600 / (10 + 2 + 2));
});

t.test('entries are in the order of the rule, in whatever order they were given', async t => {
  for (const text of ['plan=x,user=ann', 'user=ann,plan=x'])
    t.same(
      explained(text)?.entries.map(({ key }) => key),
      ['user', 'plan'],
    );
});

t.test('without a rule, entries are sorted', async t => {
  t.same(explained('b=2,a=1')?.entries, [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
  ]);
});

for (const [text, verdict, reason] of [
  ['user=blocked', 'deny_all', 'no_room'],
  ['user=free', 'allow_all', 'no_limit'],
  ['watched=x', 'allow_all', 'shadow'],
  ['strict=x', 'allow_all', 'unserved'],
  ['a=1,b=2', 'allow_all', 'ambiguous'],
  ['b=2,a=1', 'allow_all', 'ambiguous'],
  ['a=1', 'allow_all', 'no_keys'],
  ['none=1', 'allow_all', 'no_keys'],
] as const)
  t.test(`the bucket ${text} gets ${verdict}, because of ${reason}`, async t => {
    t.match(explained(text), { verdict, reason, rate: null });
  });

t.test('in global shadow mode, everything is allowed', async t => {
  t.match(explained('user=ann', explainerOf(true)), { verdict: 'allow_all', reason: 'shadow' });
});

t.test('a domain without rules has no keys, and without rules there is no answer', async t => {
  const entries = [{ key: 'user', value: 'ann' }];
  t.match(explainerOf().explain('other', entries, NOW_MS), { verdict: 'allow_all', reason: 'no_keys' });
  const parts = { store, cacheKeyPrefix: '', fingerprintKey: TEST_FINGERPRINT_KEY, steering: null };
  t.equal(
    new BucketExplainer({ ...parts, rules: () => null, isShadow: false }).explain('api', entries, NOW_MS),
    null,
  );
});
