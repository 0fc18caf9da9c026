import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { memcachedFor } from '../support/memcached-server.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { type RedisServer, redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { msUntilAnswer, until } from '../support/until.ts';

const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: minute
    rate_limit: {unit: minute, requests_per_unit: 5}
`;
const PRECISE = `
  - key: tenant
    rate_limits:
      - {window: 5m, requests_per_unit: 4, algorithm: sliding_window}
      - {unit: year, requests_per_unit: 100, name: total}
`;
const CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' };

function asked(entry: string) {
  const [key, value] = entry.split('=');
  return { domain: 'shop', descriptors: [{ entries: [{ key, value }] }] };
}

async function started(t: Test, env: Readonly<Record<string, string>>, rules = RULES + PRECISE) {
  return await serviceFor(t, { rules, env: { ADMIN_TOKEN, ...env } });
}

/** A counter without the time to its reset, which passes between two reads. */
function lasting({ reset_seconds: _, ...counter }: Record<string, unknown>): Record<string, unknown> {
  return counter;
}

/** Asks until the limit of the descriptor is used up, and known to be. */
async function usesUp(t: Test, service: ServiceProcess, entry: string): Promise<void> {
  await until(async () => (await askOverHttp(service.http, asked(entry))).status === 429);
  t.match(await askOverHttp(service.http, asked(entry)), { status: 429 });
}

/** Resolves when the process refuses the user without asking Redis. */
async function remembersRefusal(redis: RedisServer, service: ServiceProcess): Promise<void> {
  const [key] = (await redis.command('KEYS', '*user_ann*')) as string[];
  await until(async () => {
    await redis.command('SET', key, '100');
    const { status } = await askOverHttp(service.http, asked('user=ann'));
    return status === 429 && (await redis.command('GET', key)) === '100';
  });
}

async function countersAreReadAndReset(t: Test, service: ServiceProcess): Promise<void> {
  const path = '/counters?domain=shop&descriptor=user%3Dann';
  t.match(await callOperator(service, 'GET', path), {
    status: 200,
    json: { counters: [{ count: 0, remaining: 2 }] },
  });
  await askOverHttp(service.http, asked('user=ann'));
  const { json } = await callOperator(service, 'GET', path);
  t.match(json, {
    domain: 'shop',
    entries: [{ key: 'user', value: 'ann' }],
    outcome: 'limited',
    counters: [
      {
        rule: 'shop.user',
        key: /^shop_user_ann_\d+$/,
        algorithm: 'fixed_window',
        requests_per_unit: 2,
        unit: 'YEAR',
        count: 1,
        remaining: 1,
        over: false,
        window_start: /^20.*Z$/,
        reset_seconds: Number,
      },
    ],
  });
  const selector = { domain: 'shop', entries: [{ key: 'user', value: 'ann' }] };
  const again = (await callOperator(service, 'POST', '/counters/read', selector)).json.counters;
  t.same(again.map(lasting), json.counters.map(lasting));
  await usesUp(t, service, 'user=ann');
  await usesUp(t, service, 'user=bob');
  const before = await callOperator(service, 'DELETE', `${path}&reason=asked+for`);
  t.equal(before.status, 200);
  t.ok(before.json.counters[0].count >= 2 && before.json.counters[0].over);
  t.match(await askOverHttp(service.http, asked('user=ann')), { status: 200 });
  t.match(await askOverHttp(service.http, asked('user=bob')), { status: 429 }, 'other keys are kept');
  t.match((await callOperator(service, 'POST', '/counters/reset', selector)).json, {
    counters: [{ count: 1 }],
  });
  t.match(await callOperator(service, 'GET', path), { json: { counters: [{ count: 0 }] } });
  t.match(await callOperator(service, 'DELETE', '/counters?domain=shop&descriptor=none'), {
    status: 404,
    json: { code: 'not_found', detail: /no entry below/ },
  });
}

t.test('with the embedded store', async t => {
  const service = await started(t, CACHE);
  await t.test('counters are read and reset', t => countersAreReadAndReset(t, service));
  await t.test('all limits of a rule are told and reset, also sliding windows', async t => {
    await usesUp(t, service, 'tenant=a');
    const path = '/counters?domain=shop&descriptor=tenant=a';
    const { json } = await callOperator(service, 'GET', path);
    t.match(json.counters, [
      {
        rule: 'shop.tenant.5m',
        algorithm: 'sliding_window',
        window: '5m',
        count: 4,
        remaining: 0,
        over: true,
      },
      { rule: 'shop.tenant.total', name: 'total', algorithm: 'fixed_window', over: false },
    ]);
    t.match(await callOperator(service, 'DELETE', path), { status: 200 });
    t.match((await callOperator(service, 'GET', path)).json.counters, [
      { count: 0, remaining: 4 },
      { count: 0, remaining: 100 },
    ]);
  });
});

t.test('also with several serving threads', async t => {
  await countersAreReadAndReset(t, await started(t, { ...CACHE, SERVE_THREADS: '2' }));
});

t.test('in memcached', async t => {
  const memcached = await memcachedFor(t);
  const service = await started(
    t,
    { BACKEND_TYPE: 'memcache', ALTCACHE_HOST_PORT: memcached.address },
    RULES,
  );
  await usesUp(t, service, 'user=ann');
  t.match(await callOperator(service, 'DELETE', '/counters?domain=shop&descriptor=user=ann'), {
    status: 200,
  });
  t.match(await askOverHttp(service.http, asked('user=ann')), { status: 200 });
});

t.test('with Redis, with an instance for limits per second', async t => {
  const [redis, perSecond] = [await redisFor(t), await redisFor(t)];
  const env = {
    ...CACHE,
    KVCACHE_URL: redis.address,
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_URL: perSecond.address,
  };
  const [one, other] = [await started(t, env), await started(t, env)];
  await t.test('counters are read and reset', t => countersAreReadAndReset(t, one));
  await t.test('a reset at one process is in effect at the other one within a second', t =>
    resetReachesOther(t, redis, one, other),
  );
  t.match(one.output, /Operator change.*deleteCounters.*asked for/);
  t.notMatch(one.output, ADMIN_TOKEN);
});

async function resetReachesOther(
  t: Test,
  redis: RedisServer,
  one: ServiceProcess,
  other: ServiceProcess,
): Promise<void> {
  const faults = {
    none: () => {},
    'its notifications are interrupted': () => redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
    'all connections are lost': () => redis.command('CLIENT', 'KILL', 'TYPE', 'normal'),
  };
  for (const [fault, happens] of Object.entries(faults)) {
    for (const service of [one, other]) await usesUp(t, service, 'user=ann');
    await remembersRefusal(redis, other);
    const happened = happens();
    const path = '/counters?domain=shop&descriptor=user=ann';
    await until(async () => (await callOperator(one, 'DELETE', `${path}&reason=asked+for`)).status === 200);
    const ms = await msUntilAnswer(
      async () => (await askOverHttp(other.http, asked('user=ann'))).status === 200,
    );
    t.ok(ms < 1_000, `${fault}: ${Math.round(ms)} ms`);
    await happened;
    // A connection of this process may still be away, which is answered with 503.
    let read = await callOperator(one, 'GET', path);
    await until(async () => {
      if (read.status !== 200) read = await callOperator(one, 'GET', path);
      return read.status === 200;
    });
    t.match(read.json.counters, [{ count: 1 }]);
  }
}
