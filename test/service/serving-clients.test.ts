import t from 'tap';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { ruleSettings } from '../support/exactness/setup.ts';
import { callSteadily, clientMissing } from '../support/grpc-clients.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

const RULES =
  'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 1000000000}\n';

/** Calls during which many connections of a small age end. */
const CALLS = 5_000;

/** Resolves when the process has answered so many more calls. */
async function answered({ debug }: ServiceProcess): Promise<void> {
  const calls = () => statistic(debug, 'ratelimit_server.ShouldRateLimit.total_requests');
  const before = await calls();
  await until(async () => (await calls()) >= before + CALLS);
}

t.test(
  'no call of grpc-go fails when its connections reach their age',
  { skip: clientMissing('go') },
  async t => {
    const env = { ...ruleSettings(t, RULES), SERVE_THREADS: '4', GRPC_MAX_CONNECTION_AGE: '100ms' };
    const service = await serviceFor(t, { env });
    const message = encodeRateLimitRequest(request('d', 'a=x'));
    const end = callSteadily(t, service.grpc, SHOULD_RATE_LIMIT_PATH, message);
    await answered(service);
    const { ok = 0, ...failed } = await end();
    t.same(failed, {});
    t.ok(ok >= CALLS, `${ok} calls`);
  },
);
