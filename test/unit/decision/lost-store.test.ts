import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { Outage } from '../../../src/base/outage-log.ts';
import { GuardedStore } from '../../../src/counters/guarded-store.ts';
import { BatchFigures } from '../../../src/decision/statistics/batch-figures.ts';
import { LatestFigures } from '../../../src/decision/statistics/latest-figures.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { Decisions, refund, request } from '../../support/decisions.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { embeddedStore, TEST_FINGERPRINT_KEY } from '../../support/stores.ts';

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

t.test('the time until a store fails is time of the store', async t => {
  const store = new FailingStore(embeddedStore());
  const figures = BatchFigures.create();
  const latest = new LatestFigures(figures, 0);
  const decisions = new Decisions({ store, rules: RULES, figures });
  store.failure = 'away';
  await t.rejects(decisions.ask(request('d', 'k=v')), { code: 'store_failed' });
  t.match(latest.look(1_000), { decision: { count: 1 }, store: { count: 1 } });
});

t.test('a call that ends a lease fails with the store, also if an operator has let it pass', async t => {
  const store = new FailingStore(embeddedStore());
  const rules = `
domain: d
descriptors:
  - { key: k, holder: id, rate_limit: { concurrency: { limit: 2, for: 1m } } }
`;
  const records = sharedRecords(record('pass', 'k=v'));
  const decisions = new Decisions({ store, rules, steering: records.buffer });
  store.failure = 'away';
  await t.rejects(decisions.ask(refund('d', 1, 'k=v,id=1')), { code: 'store_failed' });
});

/** A store that is guarded in the mode `local`, and what lets it fail and come back. */
function guardedLocally() {
  const store = new FailingStore(embeddedStore());
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const texts = { level: 'warning', began: 'away', over: 'back', fields: {} } as const;
  const guarded = new GuardedStore({
    ...{ store, local: embeddedStore(), fingerprintKey: TEST_FINGERPRINT_KEY, keyPrefix: '', clock, logger },
    outage: new Outage(texts, { began: () => {}, changed: () => {}, over: () => {} }, clock),
    counters: { storeError: stats.counter('errors'), outages: stats.counter('outages') },
  });
  const recover = async () => {
    store.failure = null;
    clock.advance(1_000);
    await setImmediate();
  };
  return { store, guarded, recover };
}

t.test('a limit that was used up in this process is not, once the store is available again', async t => {
  const { store, guarded, recover } = guardedLocally();
  const decisions = new Decisions({ store: guarded, rules: RULES, localCacheBytes: 524_288 });
  const ask = async () => (await decisions.ask(request('d', 'k=v'))).overallCode;
  store.failure = 'away';
  t.same([await ask(), await ask(), await ask(), await ask()], [1, 1, 2, 2]);
  await recover();
  t.same([await ask(), await ask(), await ask()], [1, 1, 2], 'the counts of the store decide');
});

t.test('nor is one whose key alone was counted in this process', async t => {
  const { store, guarded } = guardedLocally();
  const decisions = new Decisions({ store: guarded, rules: RULES, localCacheBytes: 524_288 });
  const ask = async () => (await decisions.ask(request('d', 'k=v'))).overallCode;
  store.uncountable.add('d_k_v_1699999200');
  t.same([await ask(), await ask(), await ask(), await ask()], [1, 1, 2, 2]);
  t.notOk('over_limit_with_local_cache' in decisions.rule('d.k'), 'the local cache has not answered');
});

t.test('the local cache learns of a key that the store counts beside one that it cannot', async t => {
  const { store, guarded } = guardedLocally();
  const decisions = new Decisions({ store: guarded, rules: RULES, localCacheBytes: 524_288 });
  store.uncountable.add('d_k_lost_1699999200');
  const askBoth = () =>
    Promise.all(
      ['k=counted', 'k=lost'].map(async each => (await decisions.ask(request('d', each))).overallCode),
    );
  for (const code of [1, 1, 2, 2, 2]) t.same(await askBoth(), [code, code]);
  const [lost, both] = [['d_k_lost_1699999200'], ['d_k_counted_1699999200', 'd_k_lost_1699999200']];
  t.same(store.asked, [both, both, both, lost, lost], 'the store is asked for the other one only');
  t.match(decisions.rule('d.k'), { over_limit: 6, over_limit_with_local_cache: 2 });
});
