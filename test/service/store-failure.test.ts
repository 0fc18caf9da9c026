import t from 'tap';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { memcachedFor } from '../support/memcached-server.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import type { Teardown } from '../support/stores.ts';
import { until } from '../support/until.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 3}\n';
const ERRORS = 'ratelimit.service.call.should_rate_limit.redis_error';

async function start(t: Teardown, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { RUNTIME_WATCH_ROOT: 'false', ...env } });
}

/** The code of the answer, and what remains of the limit; the HTTP status of a failure. */
async function ask(service: ServiceProcess, value = 'x'): Promise<string> {
  const { status, body } = await askOverHttp(service.http, {
    domain: 'd',
    descriptors: [{ entries: [{ key: 'a', value }] }],
  });
  const remaining = body.statuses?.[0]?.['limitRemaining'] ?? 0;
  return body.overallCode === undefined ? `failed with ${status}` : `${body.overallCode} ${remaining}`;
}

const health = async (service: ServiceProcess) =>
  JSON.parse((await getPage(service.http, '/healthcheck?verbose')).text);

for (const { mode, meanwhile } of [
  { mode: 'error', meanwhile: ['failed with 503', 'failed with 503', 'failed with 503', 'failed with 503'] },
  { mode: 'allow', meanwhile: ['OK 2', 'OK 2', 'OK 2', 'OK 2'] },
  { mode: 'deny', meanwhile: ['OVER_LIMIT 0', 'OVER_LIMIT 0', 'OVER_LIMIT 0', 'OVER_LIMIT 0'] },
  { mode: 'local', meanwhile: ['OK 2', 'OK 1', 'OK 0', 'OVER_LIMIT 0'] },
]) {
  t.test(`Redis killed and restarted with STORE_FAILURE_MODE=${mode}`, async t => {
    const redis = await redisFor(t);
    const service = await start(t, { REDIS_URL: redis.address, STORE_FAILURE_MODE: mode });
    t.same([await ask(service), await ask(service)], ['OK 2', 'OK 1']);
    await redis.kill();
    await service.logged(line => /^Redis connection lost/.test(String(line['@message'])));
    const answers: string[] = [];
    for (let i = 0; i < 4; i++) answers.push(await ask(service));
    t.same(answers, meanwhile);
    t.equal(await statistic(service.debug, ERRORS), 4);
    t.equal(await statistic(service.debug, 'ratelimit.store_failure.active'), mode === 'error' ? 0 : 1);
    t.match(await health(service), {
      healthy: true,
      components: { store: false },
      decides: { store: false },
      notes: { store: /./ },
    });
    t.equal((await getPage(service.http, '/readyz')).status, 200);
    const hits = await statistic(service.debug, 'ratelimit.service.rate_limit.d.a.within_limit');
    t.equal(hits, mode === 'local' ? 5 : 2, 'what nobody counted is not counted as within the limit');

    await redis.restart();
    if (mode === 'error') await until(async () => !(await ask(service, 'other')).startsWith('failed'));
    await service.logged(line => /is available again$/.test(String(line['@message'])));
    t.equal(await ask(service), 'OK 2', 'the restarted Redis begins at 0');
    t.match(await health(service), { healthy: true, components: { store: true }, notes: undefined });
    t.equal(service.logs.filter(line => /^Redis is (un)?available/.test(String(line['@message']))).length, 2);
  });
}

t.test('a start while Redis is away begins without it, where failures are not passed on', async t => {
  const redis = await redisFor(t);
  await redis.kill();
  const service = await start(t, {
    REDIS_URL: redis.address,
    STORE_FAILURE_MODE: 'local',
    REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: 'true',
  });
  t.same([await ask(service), await ask(service)], ['OK 2', 'OK 1']);
  t.match(await health(service), { healthy: false, components: { store: false, store_connection: false } });
  await redis.start();
  await service.logged(line => /is available again$/.test(String(line['@message'])));
  t.match(await health(service), { healthy: true, components: { store: true, store_connection: true } });
  t.equal(await ask(service), 'OK 2');
});

t.test('memcached decides, its failures let pass, and the service is healthy throughout', async t => {
  const memcached = await memcachedFor(t);
  const service = await start(t, { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: memcached.address });
  t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' });
  t.equal(await ask(service), 'OK 2');
  // The hits are added after the answer.
  await until(async () => (await statistic(service.debug, 'ratelimit.memcache.add.__code=success')) > 0);
  t.same([await ask(service), await ask(service), await ask(service)], ['OK 1', 'OK 0', 'OVER_LIMIT 0']);
  await memcached.kill();
  await service.logged(line => line['@message'] === 'memcached connection lost; reconnecting');
  t.same([await ask(service), await ask(service)], ['OK 2', 'OK 2']);
  t.equal(await statistic(service.debug, ERRORS), 2);
  t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' });
  t.match(await health(service), { components: { store: false }, decides: { store: false } });
  await memcached.start();
  await service.logged(line => /is available again$/.test(String(line['@message'])));
  t.equal(await ask(service), 'OK 2');
  t.match(await service.terminate(), { status: 0 });
  t.match(await memcached.get(`d_a_x_${startOfYear()}`), '1', 'what was answered is added before the end');
});

/** The start of the window that a year's limit has now. */
function startOfYear(): number {
  const nowS = Math.floor(Date.now() / 1_000);
  return nowS - (nowS % 31_536_000);
}
