import t, { type Test } from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

/** Limits whose windows outlast the test. */
const RULES = `
domain: shop
answers: {retry_after: true}
descriptors:
  - key: model
    rate_limit:
      unit: year
      requests_per_unit: 10
      classes: {key: tier, critical: 100%, sheddable: 60%}
  - key: path
    rate_limit: {unit: year, requests_per_unit: 3, after_limit: {admit: 50%}}
`;
const CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' };

/** Starts services with one directory for rules. */
function place(t: Test) {
  const root = writeRules(tempDirectory(t), { 'config/shop.yaml': RULES });
  return async (env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> => {
    return await serviceFor(t, { env: { RUNTIME_ROOT: root, ADMIN_TOKEN, ...env } });
  };
}

/** The status of the answer to a descriptor such as `model=m,tier=critical`. */
async function ask(service: ServiceProcess, text: string, hitsAddend = 1): Promise<number> {
  const entries = text.split(',').map(pair => {
    const [key, value] = pair.split('=');
    return { key, value };
  });
  return (await askOverHttp(service.http, { domain: 'shop', hitsAddend, descriptors: [{ entries }] })).status;
}

async function counter(service: ServiceProcess, text: string) {
  const path = `/counters?domain=shop&descriptor=${encodeURIComponent(text)}`;
  return (await callOperator(service, 'GET', path)).json.counters[0];
}

/** Uses up the share of the sheddable requests, at two instances that may be the same one. */
async function sheddableIsUsedUp(t: Test, first: ServiceProcess, second: ServiceProcess): Promise<void> {
  t.equal(await ask(first, 'model=m,tier=sheddable', 6), 200);
  for (const service of [first, second, first, second]) {
    t.equal(await ask(service, 'model=m,tier=sheddable'), 429);
  }
  t.equal(await ask(second, 'model=m,tier=critical', 2), 200);
  t.equal(await ask(first, 'model=m'), 429, 'other requests have the lowest share');
}

t.test('with the embedded store, in several threads and after a restart', async t => {
  const start = place(t);
  const env = { MEMORY_STORE_SNAPSHOT_PATH: `${tempDirectory(t)}/counters`, ...CACHE };
  const first = await start({ ...env, SERVE_THREADS: '2' });
  await sheddableIsUsedUp(t, first, first);
  t.match(await counter(first, 'model=m'), {
    count: 8,
    remaining: 2,
    over: false,
    class: undefined,
    past: undefined,
  });
  t.match(await counter(first, 'model=m,tier=sheddable'), {
    count: 8,
    remaining: 0,
    over: true,
    class: 'sheddable',
  });
  const total = (name: string) => statistic(first.debug, `ratelimit.service.rate_limit.shop.model.${name}`);
  t.equal(await total('total_hits'), 13);
  t.equal(await total('tier_sheddable.over_limit'), 4);
  t.equal(await total('tier_critical.within_limit'), 2);
  await first.terminate();
  const second = await start(env);
  t.equal(await ask(second, 'model=m,tier=sheddable'), 429, 'the counts were kept');
  t.equal(await ask(second, 'model=m,tier=critical', 3), 429);
  t.equal(await ask(second, 'model=m,tier=critical', 2), 200);
});

t.test('two instances that share a Redis', async t => {
  const start = place(t);
  const redis = { KVCACHE_URL: (await redisFor(t)).address, ...CACHE };
  const [first, second] = await Promise.all([start(redis), start(redis)]);
  await sheddableIsUsedUp(t, first, second);
  await t.test('admit the exact share after a limit together', async t => {
    const statuses: number[] = [];
    for (let i = 0; i < 13; i++) statuses.push(await ask(i % 3 === 0 ? first : second, 'path=p'));
    const passed = statuses.flatMap((status, i) => (status === 200 ? [i + 1] : []));
    t.strictSame(passed, [1, 2, 3, 5, 7, 9, 11, 13]);
  });
});
