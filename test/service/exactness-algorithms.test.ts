import t from 'tap';
import { descriptor } from '../support/decisions.ts';
import { startedRedis } from '../support/exactness/expect.ts';
import { grpcFront, type Told } from '../support/exactness/fronts.ts';
import type { Call, Counter } from '../support/exactness/load.ts';
import { DOMAIN, loadOn, ruleSettings, startProcesses } from '../support/exactness/setup.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

/** Windows so long that no test reaches the end of one, and buckets that get no token meanwhile. */
const rules = (limit: number): string => `domain: ${DOMAIN}
descriptors:
  - key: sliding
    rate_limit: {window: 3650d, requests_per_unit: ${limit}, algorithm: sliding_window}
  - key: bucket
    rate_limit: {window: 365d, requests_per_unit: ${limit / 10}, algorithm: token_bucket, burst: ${limit}}
  - key: several
    rate_limits:
      - {name: total, calendar: {period: year, zone: Europe/Berlin}, requests_per_unit: ${limit * 10}}
      - {name: burst, window: 365d, requests_per_unit: ${limit / 10}, algorithm: token_bucket, burst: ${limit}}
`;

const counters = (limit: number): readonly Counter[] =>
  ['sliding', 'bucket', 'several'].map(key => ({ text: `${key}=x`, rule: `shop.${key}`, limit }));

/** The answers of the calls for a counter, each of which asked for one hit. */
function answersFor({ text }: Counter, calls: readonly Call[]): readonly Told[] {
  return calls.flatMap(({ asked, answer }) =>
    asked[0].text === text && 'told' in answer ? answer.told : [],
  );
}

const LIMIT = 300;

for (const SERVE_THREADS of ['1', '4']) {
  t.test(
    `two processes on one Redis give each hit of a limit to one caller (SERVE_THREADS=${SERVE_THREADS})`,
    async t => {
      const redis = await startedRedis(t);
      const env = { ...ruleSettings(t, rules(LIMIT)), REDIS_URL: redis.address, SERVE_THREADS };
      const processes = await startProcesses(t, 2, env);
      const asked = counters(LIMIT);
      const load = loadOn(t, processes[0], {
        seed: 1,
        counters: asked,
        unlimited: [],
        hits: 1,
        maxDescriptors: 1,
      });
      await load.run(60);
      for (const counter of asked) {
        const told = answersFor(counter, load.calls);
        t.ok(told.length > LIMIT, `${told.length} calls`);
        t.equal(told.filter(({ code }) => code === 'OK').length, LIMIT, counter.text);
      }
    },
  );
}

/** The hits that are left of a limit, asked for without taking any. */
async function leftOf(service: ServiceProcess, { text }: Counter): Promise<number> {
  const front = grpcFront(service.grpc);
  const answer = await front.ask({
    domain: DOMAIN,
    descriptors: [descriptor(text, { hitsAddend: 0 })],
    hitsAddend: 0,
  });
  front.close();
  return 'told' in answer ? answer.told[0].remaining : Number.NaN;
}

t.test('a process and Redis that are killed and restarted count each hit once', async t => {
  const limit = 1_000_000;
  // It keeps what it has counted: each count is written before it is answered, and outlives the process.
  const redis = await redisFor(t, { args: ['--appendonly', 'yes', '--appendfsync', 'no'] });
  const env = {
    ...ruleSettings(t, rules(limit)),
    REDIS_URL: redis.address,
    REDIS_TIMEOUT: '250ms',
    REDIS_STARTUP_INITIAL_INTERVAL: '50ms',
  };
  const [first, second] = await startProcesses(t, 2, env);
  const asked = counters(limit);
  const load = loadOn(t, first, { seed: 2, counters: asked, unlimited: [], hits: 1, maxDescriptors: 1 });
  let going = true;
  const running = load.runWhile(() => going);
  await load.heard(300, answer => 'told' in answer);
  second.signal('SIGKILL');
  await second.ended;
  const [PORT, GRPC_PORT] = [first.http, first.grpc].map(address => address.split(':')[1]);
  await serviceFor(t, { env: { ...env, SHARE_PORTS: 'true', PORT, GRPC_PORT } });
  await redis.kill();
  await load.heard(100, answer => 'error' in answer);
  await redis.start();
  await load.heard(300, answer => 'told' in answer);
  going = false;
  await running;
  for (const counter of asked) {
    const told = answersFor(counter, load.calls);
    const taken = limit - (await leftOf(first, counter));
    const failed = load.calls.filter(
      call => call.asked[0].text === counter.text && 'error' in call.answer,
    ).length;
    t.ok(told.length <= taken && taken <= told.length + failed, `${told.length} <= ${taken} <= +${failed}`);
  }
});
