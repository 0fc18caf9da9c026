import t from 'tap';
import { askOverGrpc, askOverHttp, grpcTo, statistic } from '../support/asking.ts';
import { refund } from '../support/decisions.ts';
import { serviceFor } from '../support/service.ts';

const RULES = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 100}}
  - {key: near, rate_limit: {unit: year, requests_per_unit: 100}}
  - {key: cached, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: month, rate_limit: {unit: month, requests_per_unit: 9}}
`;
const RULE = 'ratelimit.service.rate_limit.d';

const asking = (hitsAddend: number, ...keys: string[]) => ({
  domain: 'd',
  descriptors: keys.map(key => ({ entries: [{ key, value: 'x' }] })),
  hitsAddend,
});

/** Two processes, with settings that do not get in the way of each other. */
const shadowed = await serviceFor(t, {
  rules: RULES,
  env: { SHADOW_MODE: 'true', NEAR_LIMIT_RATIO: '0.5', SERVE_THREADS: '2', ENABLE_NEGATIVE_HITS: 'false' },
});
const holding = await serviceFor(t, {
  rules: RULES,
  env: {
    NEAR_LIMIT_RATIO: '1',
    LocalCacheSizeInBytes: '600000',
    STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true',
    USE_CALENDAR_MONTH_RATE_LIMIT: 'true',
    LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED: 'true',
  },
});

t.test('SHADOW_MODE lets every request pass, and counts those that it lets pass', async t => {
  t.match(await askOverHttp(shadowed.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(shadowed.http, asking(1, 'a', 'b')), {
    status: 200,
    body: { overallCode: 'OK', statuses: [{ code: 'OVER_LIMIT' }, { code: 'OK' }] },
  });
  t.equal(await statistic(shadowed.debug, 'ratelimit.service.global_shadow_mode'), 1);
  t.equal(await statistic(shadowed.debug, `${RULE}.a.over_limit`), 1);
});

t.test('NEAR_LIMIT_RATIO is the share of a limit above which hits are near it', async t => {
  for (const [service, near] of [
    [shadowed, 40],
    [holding, 0],
  ] as const) {
    t.match(await askOverHttp(service.http, asking(90, 'near')), { status: 200 });
    t.equal(await statistic(service.debug, `${RULE}.near.near_limit`), near);
  }
});

t.test('LocalCacheSizeInBytes remembers keys that are over their limit', async t => {
  for (const status of [200, 429, 429])
    t.match(await askOverHttp(holding.http, asking(1, 'cached')), { status });
  t.equal(await statistic(holding.debug, `${RULE}.cached.over_limit_with_local_cache`), 1);
  t.equal(await statistic(holding.debug, 'ratelimit.localcache.entryCount'), 1);
});

t.test('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT keeps hits beside one over its limit uncounted', async t => {
  t.match(await askOverHttp(holding.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(holding.http, asking(1, 'a', 'b')), { status: 429 });
  t.match(await askOverHttp(holding.http, asking(1, 'b')), { body: { statuses: [{ limitRemaining: 98 }] } });
});

t.test('USE_CALENDAR_MONTH_RATE_LIMIT counts until the month of the calendar ends, in UTC', async t => {
  const leftS = () => {
    const now = new Date();
    return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()) / 1_000);
  };
  const most = leftS();
  const { body } = await askOverHttp(holding.http, asking(1, 'month'));
  const told = Number.parseInt(String(body.statuses?.[0]['durationUntilReset']), 10);
  // Unless the month ends during this test.
  t.ok((told <= most && told >= leftS()) || leftS() > most, { told, most });
});

t.test(
  'LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED, or LIMIT_PER_UNIT_HEADERS_ENABLED, adds headers for each unit',
  async t => {
    t.match(await askOverHttp(holding.http, asking(1, 'month', 'near')), {
      body: {
        responseHeadersToAdd: [
          { key: 'RateLimit-Limit-Months', value: '9' },
          { key: 'RateLimit-Remaining-Months', value: '7' },
          { key: 'RateLimit-Limit-Years', value: '100' },
          { key: 'RateLimit-Remaining-Years', value: '9' },
        ],
      },
    });
  },
);

t.test('ENABLE_NEGATIVE_HITS=false rejects refunds, on all threads', async t => {
  const overHttp = {
    domain: 'd',
    descriptors: [{ entries: [{ key: 'b', value: 'x' }], isNegativeHits: true }],
  };
  t.match(await askOverHttp(shadowed.http, overHttp), {
    status: 501,
    body: { error: { code: 'unimplemented', message: /^negative hits are not enabled/ } },
  });
  const client = grpcTo(t, shadowed.grpc);
  await t.rejects(askOverGrpc(client, refund('d', 1, 'b=x')), {
    message: /^status 12: negative hits are not enabled/,
  });
  t.match(await askOverHttp(holding.http, overHttp), { status: 200 });
  t.equal(await statistic(shadowed.debug, 'ratelimit.service.negative_hits_rejected'), 2);
});
