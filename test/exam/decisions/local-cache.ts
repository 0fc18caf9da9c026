import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { type EntryText, limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

/** The local cache of keys that are over their limit. */
export function examineLocalCache(t: Test, open: OpenStore): void {
  const caching = async (...entries: EntryText[]): Promise<{ decisions: Decisions; store: WatchedStore }> => {
    const store = new WatchedStore(await open());
    return { store, decisions: new Decisions({ store, rules: ruleFile(...entries), localCacheBytes: 1 }) };
  };
  examineHits(t, caching);
  examineEnds(t, caching);
}

type Caching = (...entries: EntryText[]) => Promise<{ decisions: Decisions; store: WatchedStore }>;

function examineHits(t: Test, caching: Caching): void {
  t.test('a key over its limit is answered without the store, and all its hits are over', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(5, { name: 'five' }) });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 5 });
    await decisions.ask(request('d', 'k=v'));
    t.equal(store.calls.length, 2, 'at the limit the store is still asked');
    const growth = await grown(decisions, async () => {
      const response = await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 3 });
      t.strictSame(response.statuses, [
        {
          code: OVER_LIMIT,
          currentLimit: { name: 'five', requestsPerUnit: 5, unit: 3 },
          limitRemaining: 0,
          durationUntilReset: 2_800,
        },
      ]);
      t.equal(response.overallCode, OVER_LIMIT);
    });
    t.equal(store.calls.length, 2);
    t.strictSame(growth, {
      'rate_limit.d.k.total_hits': 3,
      'rate_limit.d.k.over_limit': 3,
      'rate_limit.d.k.over_limit_with_local_cache': 3,
    });
  });

  t.test('the other descriptors of the request are counted', async t => {
    const { decisions, store } = await caching(
      { key: 'over', rate_limit: limit(0) },
      { key: 'k', rate_limit: limit(5) },
    );
    await decisions.ask(request('d', 'over=x'));
    const response = await decisions.ask(request('d', 'k=v', 'over=x', 'over=y'));
    t.strictSame(
      response.statuses.map(status => [status.code, status.limitRemaining]),
      [
        [OK, 4],
        [OVER_LIMIT, 0],
        [OVER_LIMIT, 0],
      ],
    );
    t.strictSame(store.calls[1], ['d_k_v_1699999200', 'd_over_y_1699999200']);
  });

  t.test('asking with 0 hits is answered from the cache as well', async t => {
    const { decisions } = await caching({ key: 'k', rate_limit: limit(0) });
    await decisions.ask(request('d', 'k=v'));
    const ask = { domain: 'd', descriptors: [descriptor('k=v', { hitsAddend: 0 })], hitsAddend: 0 };
    t.equal((await decisions.ask(ask)).overallCode, OVER_LIMIT);
    t.strictSame(decisions.rule('d.k'), { total_hits: 1, over_limit: 1 });
  });

  t.test('rules in shadow mode and in quota mode fill the cache too', async t => {
    const { decisions, store } = await caching(
      { key: 's', shadow_mode: true, rate_limit: limit(2) },
      { key: 'q', quota_mode: true, rate_limit: limit(2) },
    );
    for (const hitsAddend of [3, 4]) await decisions.ask({ ...request('d', 's=x', 'q=x'), hitsAddend });
    t.equal(store.calls.length, 1);
    t.strictSame(decisions.rule('d.s'), {
      total_hits: 7,
      near_limit: 1,
      over_limit: 5,
      over_limit_with_local_cache: 4,
      shadow_mode: 5,
    });
    t.strictSame(decisions.rule('d.q'), {
      total_hits: 7,
      near_limit: 1,
      over_limit: 5,
      over_limit_with_local_cache: 4,
    });
  });

  t.test('two rules of one cache key share what is known', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(0) });
    await decisions.ask(request('d', 'k=v'));
    const own = descriptor('k=v', { limit: { requestsPerUnit: 1_000, unit: 3 } });
    const response = await decisions.ask({ domain: 'd', descriptors: [own], hitsAddend: 0 });
    t.equal(response.overallCode, OVER_LIMIT);
    t.equal(store.calls.length, 1);
  });
}

function examineEnds(t: Test, caching: Caching): void {
  t.test('what is known ends with the window', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(1, { unit: 'minute' }) });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    decisions.clock.advance(39_999);
    t.equal(
      (await decisions.ask(request('d', 'k=v'))).overallCode,
      OVER_LIMIT,
      'the last moment of the window',
    );
    t.equal(store.calls.length, 1);
    decisions.clock.advance(1);
    t.equal((await decisions.ask(request('d', 'k=v'))).overallCode, OK, 'the next window');
    t.equal(store.calls.length, 2);
  });

  t.test('a rule reload to a higher limit does not take effect before the window ends', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(1) });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(100) }));
    t.equal((await decisions.ask(request('d', 'k=v'))).overallCode, OVER_LIMIT);
    t.equal(store.calls.length, 1);
  });
}
