import t, { type Test } from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

const RULES = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 100}}
`;
const RULE = 'ratelimit.service.rate_limit.d';

const asking = (hitsAddend: number, ...keys: string[]) => ({
  domain: 'd',
  descriptors: keys.map(key => ({ entries: [{ key, value: 'x' }] })),
  hitsAddend,
});

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env });
}

t.test('SHADOW_MODE lets every request pass, and counts those that it lets pass', async t => {
  const service = await start(t, { SHADOW_MODE: 'true' });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), {
    status: 200,
    body: { overallCode: 'OK', statuses: [{ code: 'OVER_LIMIT' }, { code: 'OK' }] },
  });
  t.equal(await statistic(service.debug, 'ratelimit.service.global_shadow_mode'), 1);
  t.equal(await statistic(service.debug, `${RULE}.a.over_limit`), 1);
});

t.test('NEAR_LIMIT_RATIO is the share of a limit above which hits are near it', async t => {
  for (const [ratio, near] of [
    ['0.5', 40],
    ['1', 0],
  ] as const) {
    const service = await start(t, { NEAR_LIMIT_RATIO: ratio });
    t.match(await askOverHttp(service.http, asking(90, 'b')), { status: 200 });
    t.equal(await statistic(service.debug, `${RULE}.b.near_limit`), near, ratio);
    await service.terminate();
  }
});

t.test('LocalCacheSizeInBytes remembers keys that are over their limit', async t => {
  const service = await start(t, { LocalCacheSizeInBytes: '600000' });
  for (const status of [200, 429, 429]) t.match(await askOverHttp(service.http, asking(1, 'a')), { status });
  t.equal(await statistic(service.debug, `${RULE}.a.over_limit_with_local_cache`), 1);
  t.equal(await statistic(service.debug, 'ratelimit.localcache.entryCount'), 1);
});

t.test('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT keeps hits beside one over its limit uncounted', async t => {
  const service = await start(t, { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 429 });
  t.match(await askOverHttp(service.http, asking(1, 'b')), { body: { statuses: [{ limitRemaining: 98 }] } });
});
