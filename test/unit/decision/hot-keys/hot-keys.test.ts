import t from 'tap';
import { descriptor, refund, request } from '../../../support/decisions.ts';
import { WatchedDecisions } from '../../../support/hot-keys.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: plan
    value: trial-*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 1000 }
  - key: route
    rate_limits:
      - { unit: minute, requests_per_unit: 1 }
      - { window: 30s, requests_per_unit: 100, algorithm: sliding_window }
  - key: free
    rate_limit: { unlimited: true }
`;

function watched(setup: Partial<ConstructorParameters<typeof WatchedDecisions>[0]> = {}): WatchedDecisions {
  return new WatchedDecisions({ store: embeddedStore(), rules: RULES, ...setup });
}

async function ask(to: WatchedDecisions, times: number, text: string): Promise<void> {
  for (let i = 0; i < times; i++) await to.decisions.ask(request('d', text));
}

t.test('the keys of a rule have their hits, the most first, and the key of their counter', async t => {
  const to = watched({ options: { cacheKeyPrefix: 'p:' } });
  await ask(to, 1, 'user=ann');
  await ask(to, 5, 'user=bob');
  await ask(to, 9, 'free=x');
  const limit = to.limit('d.user');
  const entries = (value: string) => ({ domain: 'd', entries: [{ key: 'user', value }] });
  t.same(to.hotKeys.top(limit, 'minute', 10).keys, [
    {
      limit,
      key: 'user=bob',
      ...entries('bob'),
      cacheKey: 'p:d_user_bob_1699999200',
      hits: 5,
      refused: 3,
      error: 0,
    },
    {
      limit,
      key: 'user=ann',
      ...entries('ann'),
      cacheKey: 'p:d_user_ann_1699999200',
      hits: 1,
      refused: 0,
      error: 0,
    },
  ]);
  t.match(to.hotKeys.top(limit, 'hour', 1).keys, [{ key: 'user=bob', hits: 5, refused: 3 }]);
  const free = to.limit('d.free');
  t.match(to.hotKeys.top(free, 'minute', 10).keys, [{ key: 'free=x', cacheKey: null, hits: 9 }]);
  const all = to.hotKeys.top(null, 'minute', 2).keys;
  t.match(all, [
    { limit: free, key: 'free=x', hits: 9 },
    { limit, key: 'user=bob', hits: 5 },
  ]);
});

t.test('hits that the local cache refuses are counted', async t => {
  const to = watched({ localCacheBytes: 1_000_000 });
  await ask(to, 10, 'user=ann');
  t.equal(to.decisions.rule('d.user')['over_limit_with_local_cache'], 7, 'the local cache refused');
  t.match(to.hotKeys.top(to.limit('d.user'), 'minute', 1).keys, [{ hits: 10, refused: 8 }]);
  t.match(to.refusals.recent(8), [...Array(7).fill({ count: null }), { count: 3, requestsPerUnit: 2 }]);
});

t.test('each limit of an entry with several limits has its own keys', async t => {
  const to = watched();
  await ask(to, 3, 'route=/a');
  const { rules } = to.decisions;
  const paths = Array.from({ length: rules?.limitCount ?? 0 }, (_, limit) => rules?.path(limit) ?? '');
  const [minute, sliding] = paths.flatMap((path, limit) => (path.startsWith('d.route') ? [limit] : []));
  t.match(to.hotKeys.top(minute, 'minute', 9).keys, [
    { limit: minute, key: 'route=/a', cacheKey: /^d_route_\/a_1699999980~/, hits: 3, refused: 2 },
  ]);
  t.match(to.hotKeys.top(sliding, 'minute', 9).keys, [
    { limit: sliding, key: 'route=/a', cacheKey: /^d_route_\/a_~/, hits: 3, refused: 0 },
  ]);
  t.match(to.refusals.recent(9), [{ key: 'route=/a', count: 3 }, { count: 2 }]);
});

t.test('hits_addend counts; refunds and requests without hits do not', async t => {
  const to = watched();
  const addend = (text: string, hitsAddend: number) => request('d', descriptor(text, { hitsAddend }));
  await to.decisions.ask(addend('user=ann', 7));
  await to.decisions.ask(addend('user=ann', 0));
  await to.decisions.ask(refund('d', 5, 'user=ann'));
  t.match(to.hotKeys.top(to.limit('d.user'), 'minute', 9).keys, [{ hits: 7, refused: 7, error: 0 }]);
});

t.test('values that share a counter are one key', async t => {
  const to = watched();
  await ask(to, 2, 'plan=trial-a');
  await ask(to, 3, 'plan=trial-b');
  const { keys } = to.hotKeys.top(to.limit('d.plan_trial-*'), 'minute', 9);
  t.match(keys, [{ key: 'plan_trial-*', cacheKey: 'd_plan_trial-*_1699999980', hits: 5 }]);
});

t.test('the entry with the class is not part of a key', async t => {
  const rules = `
domain: d
descriptors:
  - key: model
    rate_limit: { unit: hour, requests_per_unit: 9, classes: { key: tier, a: 100%, b: 50% } }
    descriptors:
      - key: plan
        value: trial-*
        share_threshold: true
        rate_limit: { unit: hour, requests_per_unit: 9 }
      - key: user
        rate_limit: { unit: hour, requests_per_unit: 9 }
`;
  const to = watched({ rules });
  await ask(to, 2, 'model=m,tier=a');
  await ask(to, 1, 'model=m,tier=b');
  await ask(to, 1, 'model=m');
  await ask(to, 2, 'model=m,tier=a,tier=b,user=u');
  await ask(to, 2, 'model=m,tier=a,plan=trial-1');
  const model = { key: 'model', value: 'm' };
  const top = (path: string) => to.hotKeys.top(to.limit(path), 'minute', 9).keys;
  const key = { key: 'model=m', entries: [model], cacheKey: 'd_model_m_~1h.classes', hits: 4 };
  t.match(top('d.model'), [key]);
  t.equal(top('d.model').length, 1);
  t.match(top('d.model.user'), [
    { key: 'model=m, user=u', entries: [model, { key: 'user', value: 'u' }], hits: 2 },
  ]);
  t.match(top('d.model.plan_trial-*'), [{ key: 'model_m_plan_trial-*', entries: null }]);
});

t.test('the limit that a request carries is among the keys of overrides', async t => {
  const to = watched();
  const limit = { requestsPerUnit: 1, unit: 2 };
  const overriding = request('other', descriptor('tenant=x', { limit }));
  to.decisions.load(RULES.replace('domain: d', 'domain: other'));
  await to.decisions.ask(overriding);
  await to.decisions.ask(overriding);
  t.match(to.hotKeys.top(-1, 'minute', 9).keys, [{ limit: -1, key: 'tenant=x', hits: 2, refused: 1 }]);
  t.match(to.refusals.recent(9, -1), [{ path: '', key: 'tenant=x', requestsPerUnit: 1 }]);
});

t.test('names with control characters are passed on as they are, and long ones are cut', async t => {
  const to = watched();
  await ask(to, 2, 'user=\u001b[2J\n');
  await ask(to, 1, `user=${'é'.repeat(200)}`);
  const { keys } = to.hotKeys.top(to.limit('d.user'), 'minute', 9);
  t.equal(keys[0].key, 'user=\u001b[2J\n');
  t.equal(keys[0].cacheKey, 'd_user_\u001b[2J\n_1699999200');
  t.match(keys[1].key, /^user=é{70,}…$/);
  t.equal(keys[1].cacheKey, null, 'the key of the counter is not known');
});

t.test('entries without a value, and descriptors with many entries, are told apart', async t => {
  const many = Array.from({ length: 20 }, (_, i) => `k${i}`);
  const nested = many.reduceRight((below, key) => {
    const indented = below.replaceAll('\n', '\n  ');
    return `descriptors:\n  - key: ${key}\n    ${indented.trim()}\n`;
  }, 'rate_limit: { unit: hour, requests_per_unit: 2 }');
  const to = watched({ rules: `domain: d\n${nested}` });
  await ask(to, 1, many.map(key => `${key}=v`).join(','));
  const { keys } = to.hotKeys.top(0, 'minute', 9);
  t.match(keys[0].key, /^k0_v_k1_v_.*_k19_v$/, 'the raw cache key');
  t.match(keys[0].cacheKey, /_k19_v_1699999200$/);
});

t.test('hits leave the span after its length, and other keys remain', async t => {
  const to = watched();
  const limit = to.limit('d.user');
  await ask(to, 1, 'user=ann');
  to.decisions.clock.advance(30_000);
  await ask(to, 2, 'user=bob');
  t.match(to.hotKeys.top(limit, 'minute', 9).keys, [{ key: 'user=bob' }, { key: 'user=ann', hits: 1 }]);
  to.decisions.clock.advance(30_000);
  const { sinceMs, keys } = to.hotKeys.top(limit, 'minute', 9);
  t.match(keys, [{ key: 'user=bob' }], 'a minute later');
  t.equal(to.decisions.clock.nowMs() - sinceMs, 60_000 - 20_000, 'the start of the span is known');
  t.equal(to.hotKeys.top(limit, 'hour', 9).keys.length, 2);
  to.decisions.clock.advance(3_600_000);
  await ask(to, 1, 'user=eve');
  t.match(to.hotKeys.top(limit, 'hour', 9).keys, [{ key: 'user=eve', hits: 1 }]);
});

t.test('a limit keeps its keys when rules are reloaded, by its path', async t => {
  const to = watched();
  await ask(to, 3, 'user=ann');
  to.decisions.load(
    RULES.replace(
      'descriptors:',
      'descriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 1 }',
    ),
  );
  const limit = to.limit('d.user');
  await ask(to, 1, 'user=ann');
  t.match(to.hotKeys.top(limit, 'minute', 9).keys, [{ limit, key: 'user=ann', hits: 4, refused: 2 }]);
  t.match(to.refusals.recent(9, limit), [{ path: 'd.user' }, { path: 'd.user' }]);
  t.same(to.hotKeys.top(to.limit('d.a'), 'minute', 9).keys, []);
});
