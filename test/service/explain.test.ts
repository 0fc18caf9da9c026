import t, { type Test } from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { redisFor } from '../support/redis-server.ts';
import { serviceFor } from '../support/service.ts';
import { run } from '../unit/cli/run.ts';

const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
`;
const ASK = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

/** Hits that are counted when four were asked for: the local cache keeps the last one from the store. */
interface Counted {
  readonly hits: number;
}

/** Explains and asks in turn until the limit is used up; what is explained is what comes. */
async function explainedAsDecided(
  t: Test,
  env: Readonly<Record<string, string>>,
  counted: Counted = { hits: 4 },
): Promise<void> {
  const service = await serviceFor(t, { rules: RULES, env });
  for (let used = 0; used < 4; used++) {
    for (let time = 0; time < 2; time++) {
      const response = await fetch(`http://${service.debug}/explain`, {
        method: 'POST',
        body: JSON.stringify(ASK),
      });
      t.equal(response.status, 200);
      t.match(await response.json(), {
        descriptors: [{ outcome: 'limited', count: { now: used, after: used + 1 } }],
        answer: { overallCode: used < 2 ? 'OK' : 'OVER_LIMIT' },
      });
    }
    t.match(await askOverHttp(service.http, ASK), { status: used < 2 ? 200 : 429 });
  }
  t.equal(await statistic(service.debug, 'ratelimit.service.rate_limit.shop.user.total_hits'), 4);
  const flags = ['--domain', 'shop', '--descriptors', 'user=ann'];
  const { status, stdout } = await run('explain', '--debug-address', service.debug, ...flags);
  t.equal(status, 0);
  const line = `user=ann  OVER_LIMIT  2 per year  ${counted.hits} used  ${counted.hits + 1} with this request`;
  t.ok(stdout.startsWith(`OVER_LIMIT would be the answer; nothing was counted\n${line}`), stdout);
}

t.test('explaining counts nothing in the embedded store', t => explainedAsDecided(t, {}));

t.test('nor in Redis', async t => {
  const redis = await redisFor(t);
  await explainedAsDecided(t, { KVCACHE_URL: redis.address });
});

t.test('and with the local cache, which knows the key to be over', t =>
  explainedAsDecided(t, { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' }, { hits: 3 }),
);
