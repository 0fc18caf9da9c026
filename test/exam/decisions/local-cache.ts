import type { Test } from 'tap';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { grown, OK, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { bucket, type EntryText, limit, ruleFile, sliding } from './rule-file.ts';
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

/** The local cache of keys whose hits the store admits: it answers only as long as a refusal is certain. */
export function examineCacheOfAdmissions(t: Test, open: OpenStore): void {
  const caching = async (...entries: EntryText[]): Promise<{ decisions: Decisions; store: WatchedStore }> => {
    const store = new WatchedStore(await open());
    return { store, decisions: new Decisions({ store, rules: ruleFile(...entries), localCacheBytes: 1 }) };
  };
  examineCertainty(t, caching);
  examineCachedLimits(t, caching);
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
    t.strictSame(shown(response.statuses), ['OK 4', 'OVER_LIMIT 0', 'OVER_LIMIT 0']);
    t.strictSame(store.calls[1], ['d_k_v_1699999200', 'd_over_y_1699999200']);
  });

  t.test('asking with 0 hits is answered from the cache as well', async t => {
    const { decisions } = await caching({ key: 'k', rate_limit: limit(0) });
    await decisions.ask(request('d', 'k=v'));
    const ask = request('d', descriptor('k=v', { hitsAddend: 0 }));
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

  t.test('the limit of a request is not exceeded because that of its rule is', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(1) });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    const own = descriptor('k=v', { limit: { requestsPerUnit: 1_000, unit: 3 } });
    t.equal((await decisions.ask({ ...request('d', own), hitsAddend: 1 })).statuses[0].limitRemaining, 997);
    t.equal((await decisions.ask(request('d', 'k=v'))).overallCode, OVER_LIMIT);
    t.equal(store.calls.length, 2, 'the limit of the rule is still known to be exceeded');
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

  t.test('a reload that raises a limit takes effect at once; one that changes another does not', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: limit(1) });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(1) }, { key: 'other', rate_limit: limit(1) }));
    t.equal((await decisions.ask(request('d', 'k=v'))).overallCode, OVER_LIMIT);
    t.equal(store.calls.length, 1);
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(100) }));
    t.match((await decisions.ask(request('d', 'k=v'))).statuses[0], { code: OK, limitRemaining: 97 });
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(2) }));
    t.equal((await decisions.ask(request('d', 'k=v'))).overallCode, OVER_LIMIT, 'a limit that was lowered');
    t.equal(store.calls.length, 3);
  });
}

function examineCertainty(t: Test, caching: Caching): void {
  for (const [name, rate, fitsAfterMs] of [
    ['bucket', bucket(100, 10), 600],
    ['sliding window', sliding(10), 130_000],
  ] as const) {
    t.test(`${name}: a key is known to be over its limit until a hit fits, to the millisecond`, async t => {
      const { decisions, store } = await caching({ key: 'k', rate_limit: rate });
      const ask = async (hitsAddend = 1) =>
        (await decisions.ask({ ...request('d', 'k=v'), hitsAddend })).statuses[0];
      await ask(10);
      t.match(await ask(), { code: OVER_LIMIT, durationUntilReset: fitsAfterMs / 1_000 });
      t.equal(store.calls.length, 2, 'at the limit the store is still asked');
      decisions.clock.advance(fitsAfterMs - 1);
      t.match(await ask(), { code: OVER_LIMIT, limitRemaining: 0, durationUntilReset: 0.001 });
      t.equal(store.calls.length, 2);
      decisions.clock.advance(1);
      t.match(await ask(), { code: OK });
      t.equal(store.calls.length, 3);
      t.match(decisions.rule('d.k'), { total_hits: 13, over_limit: 2, over_limit_with_local_cache: 1 });
    });

    t.test(`${name}: a request that never fits is no reason to refuse others longer`, async t => {
      const { decisions, store } = await caching({ key: 'k', rate_limit: rate });
      const ask = async (hitsAddend: number) =>
        (await decisions.ask({ ...request('d', 'k=v'), hitsAddend })).statuses[0];
      await ask(10);
      const refused = await ask(11);
      t.equal(refused.code, OVER_LIMIT);
      t.same(await ask(11), refused);
      t.equal(store.calls.length, 3, 'only the store knows when several hits fit');
      decisions.clock.advance(fitsAfterMs);
      t.match(await ask(1), { code: OK });
    });

    t.test(`${name}: as long as fewer hits fit, the store is asked`, async t => {
      const { decisions, store } = await caching({ key: 'k', rate_limit: rate });
      const ask = async (hitsAddend: number) => {
        const { overallCode } = await decisions.ask({ ...request('d', 'k=v'), hitsAddend });
        return overallCode;
      };
      t.strictSame(
        [await ask(8), await ask(3), await ask(3), await ask(2)],
        [OK, OVER_LIMIT, OVER_LIMIT, OK],
      );
      t.equal(store.calls.length, 4);
    });

    t.test(`${name}: after a refund, or with the clock set back, the store is asked`, async t => {
      const { decisions, store } = await caching({ key: 'k', rate_limit: rate });
      const ask = async () => (await decisions.ask(request('d', 'k=v'))).overallCode;
      await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 10 });
      t.strictSame([await ask(), await ask()], [OVER_LIMIT, OVER_LIMIT]);
      t.equal(store.calls.length, 2);
      decisions.clock.advance(-1);
      t.equal(await ask(), OVER_LIMIT);
      t.equal(store.calls.length, 3);
      await decisions.ask(refund('d', 4, 'k=v'));
      t.equal(await ask(), OK);
    });
  }
}

function examineCachedLimits(t: Test, caching: Caching): void {
  for (const [name, before, after] of [
    ['burst of a bucket', bucket(6, 2), bucket(6, 20)],
    ['sliding window', sliding(2), sliding(20)],
  ] as const) {
    t.test(`a reload that raises a limit takes effect at once: ${name}`, async t => {
      const { decisions, store } = await caching({ key: 'k', rate_limit: before });
      const ask = async () => (await decisions.ask(request('d', 'k=v'))).overallCode;
      t.strictSame([await ask(), await ask(), await ask(), await ask()], [OK, OK, OVER_LIMIT, OVER_LIMIT]);
      t.equal(store.calls.length, 3, 'the last one is answered by the cache');
      decisions.load(ruleFile({ key: 'k', rate_limit: after }));
      t.equal(await ask(), OK);
    });
  }

  t.test('one of several limits is known to be exceeded: the others are counted', async t => {
    const { decisions, store } = await caching({
      key: 'k',
      rate_limits: [
        { ...bucket(60, 1), name: 'bucket' },
        { window: '5m', requests_per_unit: 100, name: 'five' },
      ],
    });
    const ask = async () => (await decisions.ask(request('d', 'k=v'))).statuses[0];
    await ask();
    for (let i = 0; i < 2; i++) {
      t.match(await ask(), { code: OVER_LIMIT, currentLimit: { name: 'bucket' }, durationUntilReset: 1 });
    }
    t.strictSame(store.calls[2], ['d_k_v_1699999800~5m']);
    t.equal(decisions.rule('d.k.five')['within_limit'], 3);
    t.match(decisions.rule('d.k.bucket'), { over_limit: 2, over_limit_with_local_cache: 1 });
  });

  t.test('a limit of 0 is asked for again after its window', async t => {
    const { decisions, store } = await caching({ key: 'k', rate_limit: sliding(0) });
    const ask = async () => (await decisions.ask(request('d', 'k=v'))).overallCode;
    t.strictSame([await ask(), await ask()], [OVER_LIMIT, OVER_LIMIT]);
    t.equal(store.calls.length, 1);
    decisions.clock.advance(100_000);
    t.equal(await ask(), OVER_LIMIT);
    t.equal(store.calls.length, 2);
  });
}
