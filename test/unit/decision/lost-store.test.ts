import t from 'tap';
import { Decisions, request } from '../../support/decisions.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { embeddedStore } from '../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: free
    rate_limit: { unlimited: true }
  - key: several
    rate_limits:
      - { name: short, unit: minute, requests_per_unit: 1 }
      - { name: long, unit: hour, requests_per_unit: 1 }
`;

t.test('requests that need no store are answered beside those that the store fails', async t => {
  const store = new FailingStore(embeddedStore());
  const decisions = new Decisions({ store, rules: RULES, localCacheBytes: 524_288 });
  const full = request('d', 'several=full');
  for (let i = 0; i < 2; i++) await decisions.ask(full);
  store.failure = 'away';
  const asked = await Promise.allSettled(
    [
      request('d', 'k=v'),
      request('d', 'free=x'),
      request('d', 'other=x'),
      full,
      request('d', 'free=x', 'k=v'),
    ].map(each => decisions.ask(each)),
  );
  t.match(asked, [
    { reason: { code: 'store_failed', message: 'away' } },
    { value: { overallCode: 1 } },
    { value: { overallCode: 1, statuses: [{ currentLimit: null }] } },
    { value: { overallCode: 2 } },
    { reason: { code: 'store_failed', message: 'away' } },
  ]);
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.redis_error'), 2);
  t.same(decisions.rule('d.k'), { total_hits: 2 }, 'nothing else is counted of a call that fails');
  t.same(decisions.rule('d.free'), { total_hits: 2, within_limit: 2 });
  t.match(decisions.rule('d.several.short'), { over_limit_with_local_cache: 1 });
});
