import t, { type Test } from 'tap';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { QuotaClient } from '../support/quota/quota-client.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

const RULES = {
  'config/api.yaml': `domain: api
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 100000}
`,
  'config/web.yaml': `domain: web
descriptors:
  - key: path
    value: /closed
    rate_limit: {unit: day, requests_per_unit: 0}
`,
  'config/shop.yaml': `domain: shop
descriptors:
  - key: plan
    descriptors:
      - key: user
        rate_limit: {unit: day, requests_per_unit: 100000}
`,
};

const ANN = { entries: [['user', 'ann']], allowed: 1 } as const;
const BOB = { entries: [['user', 'bob']], allowed: 1 } as const;
const CLOSED = { entries: [['path', '/closed']], denied: 1 } as const;

async function started(t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}) {
  const service = await serviceFor(t, { rules: RULES, env });
  return { service, proxy: (domain: string) => new QuotaClient(t, service.grpc, domain) };
}

async function quotas(service: ServiceProcess, query = '') {
  return (await callOperator(service, 'GET', `/quotas${query}`)).json;
}

const { service, proxy } = await started(t, { ADMIN_TOKEN });

t.test('before any proxy has reported, there are no buckets', async t => {
  t.match(await quotas(service), {
    time: /^20.*Z$/,
    complete: true,
    streams: 0,
    total: 0,
    proxies: 0,
    per_second: { demand: 0, allowed: 0, denied: 0 },
    buckets: [],
  });
});

t.test('buckets show what was paid, what is left, and what proxies were told', async t => {
  const [api, web] = [proxy('api'), proxy('web')];
  const [granted] = await api.report(ANN);
  await web.report(CLOSED);
  t.match(await quotas(service), { streams: 2, total: 2, proxies: 2 });
  const { buckets, ...all } = await quotas(service, '?domain=api');
  t.match(all, { streams: 1, total: 1, proxies: 1 });
  t.match(buckets, [
    {
      domain: 'api',
      entries: [{ key: 'user', value: 'ann' }],
      verdict: 'divided',
      unserved: false,
      cap: null,
      more_from: null,
      limits: [
        { total: 100_000, grantable: 100_000, seconds: 86_400, window_start: /T00:00:00.000Z$/, spent: 1 },
      ],
      proxies_total: 1,
      proxies: [
        {
          peer: '127.0.0.1',
          told: 'token_bucket',
          tokens: granted.tokens,
          interval_seconds: granted.intervalS,
          ends: /^20.*Z$/,
        },
      ],
    },
  ]);
  const [{ paid, spent, unreported, left }] = buckets[0].limits;
  t.equal(paid, spent + unreported);
  t.equal(left, 100_000 - paid);
  const { json } = await callOperator(service, 'GET', '/counters?domain=api&descriptor=user=ann');
  t.equal(json.counters[0].count, paid, 'the counter has what was paid');
  t.match((await quotas(service, '?domain=web')).buckets, [
    {
      verdict: 'deny_all',
      rate: null,
      limits: [],
      proxies: [{ told: 'deny_all', tokens: null, ends: null }],
    },
  ]);

  api.close();
  web.close();
  await until(async () => (await quotas(service)).total === 0);
  t.match(await quotas(service), { streams: 0, buckets: [] }, 'proxies that leave are not shown any more');
});

t.test('the streams of all threads are shown together', async t => {
  const { service, proxy } = await started(t, { SERVE_THREADS: '2' });
  const proxies = Array.from({ length: 6 }, () => proxy('api'));
  await Promise.all(proxies.map(each => each.report(ANN, BOB)));
  t.match(await quotas(service), {
    complete: true,
    streams: 6,
    total: 2,
    proxies: 12,
    buckets: [{ proxies_total: 6 }, { proxies_total: 6 }],
  });
  await until(async () => {
    for (const each of proxies) each.send({ ...ANN, allowed: 20, denied: 10 }, BOB);
    const [first] = (await quotas(service)).buckets;
    return first.proxies.every((each: Usage) => each.per_second.denied > 0);
  });
  const { total, buckets } = await quotas(service, '?count=1');
  t.equal(buckets.length, 1, 'as many as were asked for');
  t.ok(total >= 2, 'all of them are counted');
  t.match(buckets[0].entries, [{ value: 'ann' }], 'the one with the most demand');
  t.equal(buckets[0].proxies.length, 6);
  const { allowed, denied, demand } = buckets[0].per_second;
  t.ok(Math.abs(allowed - 2 * denied) < 0.05, `${allowed} are twice ${denied}`);
  t.ok(demand > 0);
});

interface Usage {
  readonly per_second: { readonly denied: number };
}

t.test('one bucket is read by its entries, in any order', async t => {
  const shop = proxy('shop');
  const report = (user: string) =>
    shop.report({
      entries: [
        ['user', user],
        ['plan', 'free'],
      ],
      allowed: 1,
    });
  for (const user of ['a,b', 'ann']) await report(user);
  const read = (user: string) => ({
    domain: 'shop',
    entries: [
      { key: 'user', value: user },
      { key: 'plan', value: 'free' },
    ],
  });
  const entries = (user: string) => [
    { key: 'plan', value: 'free' },
    { key: 'user', value: user },
  ];
  t.match((await quotas(service, '?domain=shop&descriptor=user=ann,plan=free')).buckets, [
    { entries: entries('ann') },
  ]);
  const { json } = await callOperator(service, 'POST', '/quotas/read', read('a,b'));
  t.match(json, { total: 1, buckets: [{ entries: entries('a,b') }] });
  t.match((await callOperator(service, 'POST', '/quotas/read', read('none'))).json, {
    total: 0,
    buckets: [],
  });
  t.match(await callOperator(service, 'GET', '/quotas?descriptor=user=ann'), {
    status: 400,
    json: {
      detail: 'The parameter domain is missing: `descriptor` needs it.',
      errors: [{ parameter: 'domain' }],
    },
  });
});

t.test('bans, passes and overrides are shown within the next report', async t => {
  const api = proxy('api');
  await api.report(ANN);
  const about = { domain: 'api', entries: [{ key: 'user', value: 'ann' }], reason: 'test' };
  const until_ = new Date(Date.now() + 3_600_000).toISOString();
  const change = async (path: string, more: object = {}) => {
    const { json } = await callOperator(service, 'PUT', path, { ...about, ...more, until: until_ });
    const [action] = await api.report(ANN);
    const { buckets } = await quotas(service, '?domain=api');
    await callOperator(service, 'DELETE', `${path}/${json.id}`);
    return { action, bucket: buckets[0] };
  };
  t.match(await change('/bans'), {
    action: { kind: 'deny_all' },
    bucket: { verdict: 'deny_all', proxies: [{ told: 'deny_all' }] },
  });
  t.match(await change('/passes'), {
    action: { kind: 'allow_all' },
    bucket: { verdict: 'allow_all', limits: [], proxies: [{ told: 'allow_all' }] },
  });
  t.match(await change('/overrides', { requests_per_unit: 200_000 }), {
    action: { kind: 'token_bucket' },
    bucket: { verdict: 'divided', limits: [{ total: 200_000 }] },
  });
});
