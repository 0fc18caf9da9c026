import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { OK, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

const RULES = ruleFile({ key: 'a', rate_limit: limit(15) }, { key: 'b', rate_limit: limit(14) });

/** `STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT`: one descriptor over its limit keeps the others from being counted. */
export function examineHoldingBack(t: Test, open: OpenStore): void {
  const holding = async (rules = RULES): Promise<Decisions> =>
    new Decisions({ store: await open(), rules, options: { holdBack: true } });
  examineFullDescriptors(t, holding);
  examineOrder(t, holding);
  examineWithLocalCache(t, open);
}

type Holding = (rules?: string) => Promise<Decisions>;

/** What is left of each limit, without counting. */
async function left(decisions: Decisions, ...texts: string[]): Promise<number[]> {
  const response = await decisions.ask({
    domain: 'd',
    descriptors: texts.map(text => descriptor(text, { hitsAddend: 0 })),
    hitsAddend: 0,
  });
  return response.statuses.map(status => status.limitRemaining);
}

function examineFullDescriptors(t: Test, holding: Holding): void {
  t.test('only the descriptors that would exceed their limit are counted', async t => {
    const decisions = await holding();
    await decisions.ask({ ...request('d', 'a=x', 'b=x'), hitsAddend: 13 });
    const response = await decisions.ask({ ...request('d', 'a=x', 'b=x'), hitsAddend: 2 });
    t.strictSame(shown(response.statuses), ['OK 2', 'OVER_LIMIT 0']);
    t.equal(response.overallCode, OVER_LIMIT);
    t.strictSame(await left(decisions, 'a=x'), [2]);
    // Hits that were held back are not near anything: the count did not get there.
    t.strictSame(decisions.rule('d.a'), { total_hits: 15, within_limit: 15, near_limit: 1 });
    t.strictSame(decisions.rule('d.b'), { total_hits: 15, within_limit: 13, near_limit: 3, over_limit: 1 });
  });

  t.test('while nothing is full, everything is counted', async t => {
    const decisions = await holding();
    const response = await decisions.ask({ ...request('d', 'a=x', 'b=x'), hitsAddend: 14 });
    t.strictSame(each(response.statuses, 'limitRemaining'), [1, 0]);
    t.strictSame(await left(decisions, 'a=x', 'b=x'), [1, 0]);
  });

  t.test('several full descriptors are all counted', async t => {
    const decisions = await holding();
    await decisions.ask({ ...request('d', 'a=x', 'b=x', 'a=y'), hitsAddend: 20 });
    t.strictSame(decisions.rule('d.a'), { total_hits: 40, near_limit: 6, over_limit: 10 });
    t.strictSame(decisions.rule('d.b'), { total_hits: 20, near_limit: 3, over_limit: 6 });
  });

  t.test('a descriptor that only asks holds the others back when it is over its limit', async t => {
    const decisions = await holding();
    await decisions.ask({ ...request('d', 'b=x'), hitsAddend: 15 });
    const response = await decisions.ask({
      ...request('d', descriptor('b=x', { hitsAddend: 0 }), descriptor('a=x')),
      hitsAddend: 4,
    });
    t.strictSame(shown(response.statuses), ['OVER_LIMIT 0', 'OK 15']);
    t.strictSame(await left(decisions, 'a=x'), [15]);
  });

  t.test('a held descriptor at exactly its limit is OK', async t => {
    const decisions = await holding();
    await decisions.ask({ ...request('d', 'a=x'), hitsAddend: 15 });
    const response = await decisions.ask(
      request('d', descriptor('a=x', { hitsAddend: 0 }), descriptor('b=x', { hitsAddend: 15 })),
    );
    t.strictSame(each(response.statuses, 'code'), [OK, OVER_LIMIT]);
  });

  t.test('unlimited descriptors and those without a rule neither hold nor are held', async t => {
    const decisions = await holding(
      ruleFile({ key: 'free', rate_limit: { unlimited: true } }, { key: 'a', rate_limit: limit(1) }),
    );
    for (let i = 0; i < 2; i++) await decisions.ask(request('d', 'free=x', 'a=x', 'none=x'));
    t.strictSame(decisions.rule('d.free'), { total_hits: 2, within_limit: 2 });
    t.strictSame(decisions.rule('d.a'), { total_hits: 2, within_limit: 1, near_limit: 1, over_limit: 1 });
  });

  t.test('a rule in shadow mode that is full holds the others back as well', async t => {
    const decisions = await holding(
      ruleFile({ key: 's', shadow_mode: true, rate_limit: limit(0) }, { key: 'a', rate_limit: limit(5) }),
    );
    const response = await decisions.ask(request('d', 's=x', 'a=x'));
    t.strictSame(each(response.statuses, 'code'), [OK, OK]);
    t.strictSame(await left(decisions, 'a=x'), [5]);
  });
}

function examineOrder(t: Test, holding: Holding): void {
  t.test('two descriptors of one key are both judged by the count before the request', async t => {
    const decisions = await holding(ruleFile({ key: 'k', rate_limit: limit(10) }));
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 9 });
    const response = await decisions.ask(request('d', 'k=v', 'k=v', 'k=w'));
    t.strictSame(shown(response.statuses), ['OK 0', 'OVER_LIMIT 0', 'OK 9']);
  });

  t.test('requests of one batch are decided one after the other', async t => {
    const decisions = await holding(
      ruleFile({ key: 'few', rate_limit: limit(2) }, { key: 'many', rate_limit: limit(10) }),
    );
    const responses = await Promise.all([
      decisions.ask(request('d', 'few=x', 'many=x')),
      decisions.ask({ ...request('d', 'few=x', 'many=x'), hitsAddend: 2 }),
      decisions.ask(request('d', 'many=x')),
      decisions.ask(request('d', 'few=x', 'many=x')),
      decisions.ask(request('d', 'few=y', 'many=x')),
    ]);
    t.strictSame(
      responses.map(({ statuses }) => shown(statuses)),
      [['OK 1', 'OK 9'], ['OVER_LIMIT 0', 'OK 9'], ['OK 8'], ['OVER_LIMIT 0', 'OK 8'], ['OK 1', 'OK 7']],
    );
  });
}

function examineWithLocalCache(t: Test, open: OpenStore): void {
  t.test('a key known to be over its limit holds back all others, full or not, in one call', async t => {
    const store = new WatchedStore(await open());
    const rules = ruleFile(
      { key: 'over', rate_limit: limit(0) },
      { key: 'full', rate_limit: limit(3) },
      { key: 'free', rate_limit: limit(10) },
    );
    const options = { holdBack: true };
    const decisions = new Decisions({ store, rules, options, localCacheBytes: 1 });
    await decisions.ask({ ...request('d', 'full=x', 'free=x'), hitsAddend: 3 });
    await decisions.ask(request('d', 'over=x'));
    store.calls.length = 0;
    const response = await decisions.ask({ ...request('d', 'over=x', 'full=x', 'free=x'), hitsAddend: 2 });
    t.strictSame(shown(response.statuses), ['OVER_LIMIT 0', 'OK 0', 'OK 7']);
    t.strictSame(store.calls, [['d_full_x_1699999200', 'd_free_x_1699999200']]);
    t.strictSame(await left(decisions, 'full=x', 'free=x'), [0, 7]);
    t.strictSame(decisions.rule('d.over'), { total_hits: 3, over_limit: 3, over_limit_with_local_cache: 2 });
    t.strictSame(decisions.rule('d.full'), { total_hits: 5, within_limit: 5, near_limit: 1 });
  });

  t.test('a held descriptor whose count is over its limit is over by all of its hits', async t => {
    const store = await open();
    const rules = ruleFile({ key: 'known', rate_limit: limit(0) }, { key: 'other', rate_limit: limit(3) });
    const before = new Decisions({ store, rules });
    await before.ask({ ...request('d', 'other=x'), hitsAddend: 4 });
    const decisions = new Decisions({ store, rules, options: { holdBack: true }, localCacheBytes: 1 });
    await decisions.ask(request('d', 'known=x'));
    const response = await decisions.ask({ ...request('d', 'known=x', 'other=x'), hitsAddend: 2 });
    t.strictSame(each(response.statuses, 'code'), [OVER_LIMIT, OVER_LIMIT]);
    t.strictSame(decisions.rule('d.other'), { total_hits: 2, over_limit: 2 });
  });
}
