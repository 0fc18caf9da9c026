import t, { type Test } from 'tap';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { MAX_EXPLAINED_DESCRIPTORS } from '../../../../src/decision/explain/explain.ts';
import { type DecisionSetup, Decisions, descriptor, request } from '../../../support/decisions.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5, name: each-user}
  - key: path
    value: /api/*
    share_threshold: true
    rate_limit: {unit: hour, requests_per_unit: 100}
    descriptors:
      - key: method
        value: POST
        shadow_mode: true
        quota_mode: true
        rate_limit: {unit: day, requests_per_unit: 1}
  - key: staff
    rate_limit: {unlimited: true, name: staff, replaces: [{name: each-user}]}
  - key: free
  - key: ip
    detailed_metric: true
    rate_limit: {unit: second, requests_per_unit: 2}
`;

function freshDecisions(setup: Partial<DecisionSetup> = {}): Decisions {
  const store = embeddedStore();
  return new Decisions({ store, rules: RULES, ...setup });
}

/** The explanation of the only descriptor of a request. */
async function explained(decisions: Decisions, text: string) {
  return (await decisions.explain(request('shop', text))).descriptors[0];
}

t.test('a descriptor with a limit: rule, key, window, count and what the answer would be', async t => {
  const decisions = freshDecisions();
  for (let hit = 0; hit < 3; hit++) await decisions.ask(request('shop', 'user=ann'));
  const explanation = await decisions.explain(request('shop', 'user=ann'));
  t.strictSame(explanation, {
    domain: 'shop',
    time: '2023-11-14T22:13:20.000Z',
    descriptors: [
      {
        entries: [{ key: 'user', value: 'ann' }],
        hits: 1,
        isRefund: false,
        outcome: 'limited',
        why: '`user` matches `user=ann` by key alone',
        levels: [{ entry: 'user=ann', rule: 'user', matched: 'by key alone' }],
        limit: {
          rule: 'shop.user',
          name: 'each-user',
          requestsPerUnit: 5,
          unit: 'MINUTE',
          shadowMode: false,
          quotaMode: false,
          statistics: 'ratelimit.service.rate_limit.shop.user',
        },
        key: 'shop_user_ann_1699999980',
        window: { start: '2023-11-14T22:13:00.000Z', end: '2023-11-14T22:14:00.000Z', resetSeconds: 40 },
        count: { now: 3, after: 4, heldBack: false },
        status: explanation.descriptors[0].status,
      },
    ],
    answer: JSON.parse((await decisions.askJson(request('shop', 'user=ann'))).text),
  });
});

t.test('each level tells how it was matched', async t => {
  const { levels, why, limit, key } = await explained(freshDecisions(), 'path=/api/a,method=POST');
  t.strictSame(levels, [
    { entry: 'path=/api/a', rule: 'path_/api/*', matched: 'by wildcard' },
    { entry: 'method=POST', rule: 'method_POST', matched: 'exactly' },
  ]);
  t.equal(
    why,
    '`path_/api/*` matches `path=/api/a` by wildcard, then `method_POST` matches `method=POST` exactly',
  );
  t.match(limit, { rule: 'shop.path_/api/*.method_POST', shadowMode: true, quotaMode: true });
  t.equal(key, 'shop_path_/api/*_method_POST_1699920000', 'all values of the pattern share one counter');
});

t.test('the reason why a limit does not apply is reported', async t => {
  const decisions = freshDecisions();
  const cases: Record<string, string> = {
    'ip=1,port=2': 'there are no entries below `shop.ip`',
    'path=/x': 'no entry below `shop` matches `path=/x`',
    'path=/api/a,method=GET': 'no entry below `shop.path_/api/*` matches `method=GET`',
    'free=x': '`shop.free` has no rate_limit',
  };
  for (const [text, why] of Object.entries(cases)) {
    t.match(await explained(decisions, text), { outcome: 'no limit', why, status: { code: 'OK' } });
  }
  const { descriptors } = await decisions.explain(request('other', 'user=ann'));
  t.match(descriptors, [
    { outcome: 'no limit', why: 'there are no rules for the domain `other`', levels: [] },
  ]);
});

t.test('unlimited rules and the limits that they replace have no count', async t => {
  const { descriptors } = await freshDecisions().explain(request('shop', 'user=ann', 'staff=ann'));
  t.match(descriptors[0], {
    outcome: 'replaced',
    why: '`shop.staff` also applies to the request and replaces `shop.user`',
    limit: { rule: 'shop.user' },
    count: undefined,
  });
  t.match(descriptors[1], { outcome: 'unlimited', limit: { unit: 'UNKNOWN' }, key: undefined });
});

t.test('a limit that the descriptor brings stands in place of the rules', async t => {
  const own = descriptor('user=ann', { limit: { requestsPerUnit: 9, unit: 3 }, hitsAddend: 2 });
  const { descriptors } = await freshDecisions().explain(request('shop', own));
  t.match(descriptors[0], {
    hits: 2,
    outcome: 'limited',
    why: 'the descriptor has its own limit, so no rule applies',
    limit: { rule: null, requestsPerUnit: 9, unit: 'HOUR', statistics: /shop\.user_ann$/ },
    count: { now: 0, after: 2 },
  });
});

t.test('hits that another limit holds back are distinguished', async t => {
  const decisions = freshDecisions({ options: { holdBack: true } });
  for (let hit = 0; hit < 5; hit++) await decisions.ask(request('shop', 'user=ann'));
  const { descriptors, answer } = await decisions.explain(request('shop', 'user=ann', 'ip=1'));
  t.match(descriptors, [
    { count: { now: 5, after: 6, heldBack: false }, status: { code: 'OVER_LIMIT' } },
    { count: { now: 0, after: 0, heldBack: true }, status: { code: 'OK' } },
  ]);
  t.match(answer, { overallCode: 'OVER_LIMIT' });
});

t.test('names of statistics with request values are those that would be counted', async t => {
  const { limit } = await explained(freshDecisions(), 'ip=10.0.0.1');
  t.match(limit, { statistics: 'ratelimit.service.rate_limit.shop.ip_10_0_0_1' });
});

t.test('nothing is counted: no hit, no statistic, no name', async t => {
  const decisions = freshDecisions();
  const before = [...decisions.stats.counters()];
  for (const text of ['user=ann', 'ip=10.0.0.1', 'staff=x']) await explained(decisions, text);
  await decisions.explain(request('other', 'user=ann'));
  t.strictSame([...decisions.stats.counters()], before);
  t.match(await explained(decisions, 'user=ann'), { count: { now: 0 } });
});

t.test('rules that were loaded meanwhile are the ones that are explained', async t => {
  const decisions = freshDecisions();
  await explained(decisions, 'user=ann');
  decisions.load('domain: shop\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 7}}]\n');
  t.match(await explained(decisions, 'user=ann'), { limit: { unit: 'DAY', requestsPerUnit: 7 } });
});

function refuses(t: Test, decisions: Decisions, code: string, message: RegExp) {
  return t.rejects(decisions.explain(request('shop', 'user=ann')), { name: 'Fault', code, message });
}

t.test('a refusal is the one that the decision would get', async t => {
  const decisions = freshDecisions();
  await t.rejects(decisions.explain(request('', 'user=ann')), {
    code: 'bad_request',
    message: /`domain` is empty/,
  });
  await t.rejects(decisions.explain(request('shop')), { code: 'bad_request' });
  await refuses(t, freshDecisions({ rules: null }), 'no_rules', /no rules are loaded yet/);
  const { increment, incrementHoldingBack } = EmbeddedCounterStore.prototype;
  const mute: CounterStore = {
    name: 'mute',
    increment,
    incrementHoldingBack,
    start: async () => {},
    stop: async () => {},
  };
  await refuses(t, freshDecisions({ store: mute }), 'store_failed', /the mute store cannot be read/);
});

t.test('a request with more descriptors than a person reads is refused before any work', async t => {
  const store = embeddedStore();
  let read = 0;
  const counting: CounterStore = {
    name: 'counting',
    increment: batch => store.increment(batch),
    incrementHoldingBack: batch => store.incrementHoldingBack(batch),
    read: batch => {
      read++;
      store.read(batch);
    },
    start: async () => {},
    stop: async () => {},
  };
  const decisions = freshDecisions({ store: counting });
  const of = (count: number) => request('shop', ...Array.from({ length: count }, (_, i) => `user=u${i}`));
  await t.rejects(decisions.explain(of(MAX_EXPLAINED_DESCRIPTORS + 1)), {
    code: 'too_large',
    message: /the request has 65 descriptors; at most 64 are explained per request/,
  });
  t.equal(read, 0);
  const { descriptors } = await decisions.explain(of(MAX_EXPLAINED_DESCRIPTORS));
  t.equal(descriptors.length, MAX_EXPLAINED_DESCRIPTORS);
  t.equal(read, 1);
});
