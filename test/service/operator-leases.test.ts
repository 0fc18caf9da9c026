import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type Run, runIn } from '../unit/cli/run.ts';

const RULES = `
domain: ai
descriptors:
  - key: user
    holder: request_id
    rate_limits:
      - {unit: year, requests_per_unit: 5, scale: 1000, reserve: {for: 10m}, name: money}
      - {concurrency: {limit: 2, for: 10m}, name: running}
  - key: plain
    rate_limit: {unit: year, requests_per_unit: 5}
`;
const USER = '/leases?domain=ai&descriptor=user%3Dann';
const SELECTOR = { domain: 'ai', entries: [{ key: 'user', value: 'ann' }] };

async function started(t: Test, env: Readonly<Record<string, string>> = {}) {
  return await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN, ...env } });
}

/** A call of a holder. */
async function call(service: ServiceProcess, user: string, holder: string, hitsAddend: number) {
  const entries = [
    { key: 'user', value: user },
    { key: 'request_id', value: holder },
  ];
  return await askOverHttp(service.http, { domain: 'ai', descriptors: [{ entries, hitsAddend }] });
}

async function leasesAreListedAndReleased(t: Test, service: ServiceProcess): Promise<void> {
  t.equal((await call(service, 'ann', 'a', 1_500)).status, 200);
  t.equal((await call(service, 'ann', 'b', 2_000)).status, 200);
  t.equal((await call(service, 'ann', 'c', 1)).status, 429, 'no slot is left');
  t.equal((await call(service, 'bob', 'd', 1)).status, 200);

  const { json } = await callOperator(service, 'GET', USER);
  const holders = [
    { holder: 'a', hits: 1_500, ends: /^20.*Z$/ },
    { holder: 'b', hits: 2_000, ends: /^20.*Z$/ },
  ];
  t.match(json, {
    domain: 'ai',
    entries: [{ key: 'user', value: 'ann' }],
    outcome: 'limited',
    limits: [
      {
        rule: 'ai.user.money',
        name: 'money',
        scale: 1_000,
        spent: 0,
        held: 3_500,
        count: 2,
        leases: holders,
      },
      {
        rule: 'ai.user.running',
        requests_per_unit: 2,
        window: 'concurrency',
        held: 2,
        count: 2,
        leases: [{ holder: 'a', hits: 1 }, { holder: 'b' }],
      },
    ],
  });
  t.match((await callOperator(service, 'POST', '/leases/read', SELECTOR)).json.limits, [
    { leases: holders },
    { count: 2 },
  ]);
  t.match((await callOperator(service, 'GET', USER.replace('leases', 'counters'))).json.counters, [
    { name: 'money', count: 3.5, spent: 0, held: 3.5, leases: 2, remaining: 1, over: false, past: undefined },
    { name: 'running', count: 2, held: 2, leases: 2, remaining: 0, over: true, first_lease_ends: /^20.*Z$/ },
  ]);

  t.match(await callOperator(service, 'DELETE', `${USER}&holder=a&reason=stuck`), {
    status: 200,
    json: {
      holder: 'a',
      limits: [
        { name: 'money', hits: 1_500 },
        { name: 'running', hits: 1 },
      ],
    },
  });
  t.match(await callOperator(service, 'DELETE', `${USER}&holder=a`), {
    status: 404,
    json: { code: 'not_found', detail: 'The holder has no lease in the limits of this descriptor.' },
  });
  t.equal((await call(service, 'ann', 'c', 3_000)).status, 200, 'there is room again');
  t.match(await callOperator(service, 'POST', '/leases/release', { ...SELECTOR, holder: 'b' }), {
    status: 200,
  });
  t.match((await callOperator(service, 'GET', USER)).json.limits, [
    { spent: 0, held: 3_000, count: 1, leases: [{ holder: 'c' }] },
    { held: 1, count: 1 },
  ]);
  t.match((await callOperator(service, 'GET', '/leases?domain=ai&descriptor=user=bob')).json.limits, [
    { held: 1, count: 1 },
    { held: 1, count: 1 },
  ]);
}

t.test('with the embedded store, leases are listed and released', async t => {
  await leasesAreListedAndReleased(t, await started(t));
});

t.test('in Redis, also by a process that has not taken them', async t => {
  const redis = await redisFor(t);
  const env = { BACKEND_TYPE: 'redis', KVCACHE_URL: redis.address };
  const [first, second] = [await started(t, env), await started(t, env)];
  await leasesAreListedAndReleased(t, first);
  t.match(await callOperator(second, 'DELETE', `${USER}&holder=c`), { status: 200 });
  t.match((await callOperator(first, 'GET', USER)).json.limits, [{ held: 0, leases: [] }, { held: 0 }]);
});

t.test('while the store is away, nobody is told that there are no leases', async t => {
  const redis = await redisFor(t);
  const service = await started(t, {
    BACKEND_TYPE: 'redis',
    KVCACHE_URL: redis.address,
    STORE_FAILURE_MODE: 'allow',
  });
  await call(service, 'ann', 'a', 1);
  await redis.kill();
  await until(async () => (await callOperator(service, 'GET', USER)).status === 503);
  t.match(await callOperator(service, 'DELETE', `${USER}&holder=a`), { status: 503 });
  const { json } = await callOperator(service, 'GET', USER.replace('leases', 'counters'));
  t.match(json.counters, [{ count: null, held: undefined }, { count: null }]);
});

t.test('a descriptor without leases has none to list or to release', async t => {
  const service = await started(t);
  const path = '/leases?domain=ai&descriptor=plain=x';
  t.match((await callOperator(service, 'GET', path)).json, { outcome: 'limited', limits: [] });
  t.match((await callOperator(service, 'GET', '/leases?domain=ai&descriptor=none')).json, {
    outcome: 'no limit',
    limits: [],
  });
  t.match(await callOperator(service, 'DELETE', `${path}&holder=a`), { status: 404 });
});

t.test('on the command line', async t => {
  const service = await started(t);
  await call(service, 'ann', 'a', 1_500);
  await call(service, 'ann', 'b\u001b[31m', 250);
  const ann = ['--domain', 'ai', '--descriptors', 'user=ann', '--debug-address', service.debug];
  const sluice = (...args: string[]): Promise<Run> => runIn({ ADMIN_TOKEN }, ...args, ...ann);

  const { stdout } = await sluice('leases', 'list');
  t.match(
    stdout,
    new RegExp(
      [
        /ai\.user\.money: 5 per 365d, each one worth 1000 hits; 0 spent, 1750 held by 2 leases/,
        /HOLDER +HITS +ENDS/,
        /a +1500 +20\S+Z/,
        /b\\u\{1b\}\[31m +250 +20\S+Z|b\S+ +250 +20\S+Z/,
        /\nai\.user\.running: 2 at the same time; 0 spent, 2 held by 2 leases/,
      ]
        .map(({ source }) => source)
        .join('\\n'),
    ),
  );
  t.notMatch(stdout, '\u001b');
  t.match(
    (await sluice('counters', 'get')).stdout,
    /^ai\.user\.money: 0 spent, 1\.75 held by 2 leases, the first/m,
  );
  t.match((await sluice('counters', 'get')).stdout, /ai\.user\.running +2 +2 at once +0 /);

  const released = await sluice('leases', 'release', '--holder', 'a', '--reason', 'ticket 4711');
  t.match(released, {
    status: 0,
    stdout: /^RULE +HITS HELD +KEY\nai\.user\.money +1500 .*\n.*\nThe lease was/,
  });
  await service.written(/Operator change.*ticket 4711/);
  t.match(await sluice('leases', 'release', '--holder', 'a'), { status: 2, stderr: /has no lease/ });
  const { limits } = JSON.parse((await sluice('leases', 'list', '--json')).stdout);
  t.match(limits, [{ held: 250, count: 1 }, { held: 1 }]);

  t.match(await sluice('leases', 'release'), { status: 2, stderr: /--holder/ });
  t.match(await sluice('leases', 'list', '--holder', 'a'), {
    status: 2,
    stderr: /are for "sluice leases release"/,
  });
  t.match(await sluice('leases', 'take'), { status: 2, stderr: /"sluice leases list" or "release"/ });
  t.match(
    await runIn(
      {},
      'leases',
      'list',
      '--domain',
      'ai',
      '--descriptors',
      'plain=x',
      '--debug-address',
      service.debug,
    ),
    {
      stdout: /^no limits with leases: /,
    },
  );
});
