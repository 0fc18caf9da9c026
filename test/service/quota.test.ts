import t, { type Test } from 'tap';
import { askOverHttp, dialled } from '../support/asking.ts';
import { GrpcClient, type Talk } from '../support/grpc-client.ts';
import { memcachedFor } from '../support/memcached-server.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { bucketId, type ReadAction, readActions, usageReports } from '../support/quota/model-proxy.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';
import { until } from '../support/until.ts';

// The rate limit quota service, as proxies call it.

const PATH = '/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas';

const RULES = `domain: demo
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: user
        rate_limit: {unit: day, requests_per_unit: 100000}
        quota: {share: 50%, for: 20s}
  - key: internal
    rate_limit: {unlimited: true}
  - key: closed
    rate_limit: {unit: day, requests_per_unit: 0}
`;

/** A stream of a proxy. */
function open(t: Test, service: ServiceProcess): Talk {
  const client = new GrpcClient(dialled(service.grpc));
  t.teardown(() => client.close());
  return client.talk(PATH);
}

/** Reports a bucket, and returns what the proxy is answered about it. */
async function report(
  stream: Talk,
  entries: readonly (readonly [string, string])[],
  allowed: number,
  denied = 0,
): Promise<ReadAction> {
  stream.send(usageReports('demo', [{ id: bucketId(entries), allowed, denied }]));
  const [action] = readActions(await stream.next());
  return action;
}

const ANN = [
  ['user', 'ann'],
  ['plan', 'free'],
] as const;

for (const [name, settings] of [
  ['the embedded store', async () => ({})],
  ['Redis', async t => ({ KVCACHE_URL: (await redisFor(t)).address })],
  ['the embedded store and two threads', async () => ({ SERVE_THREADS: '2' })],
  ['grpc-js', async () => ({ GRPC_SERVER_ENGINE: 'grpc-js' })],
] satisfies [string, (t: Test) => Promise<Record<string, string>>][])
  t.test(`a proxy gets assignments for its buckets: ${name}`, async t => {
    const service = await serviceFor(t, { rules: RULES, env: await settings(t) });
    const stream = open(t, service);
    const first = await report(stream, ANN, 1);
    t.match(first, { bucket: 'plan=free,user=ann', kind: 'token_bucket', intervalS: 1, ttlS: 20 });
    t.ok(first.tokens > 100, 'until its demand is known, a proxy gets a part of what there is');
    t.match(await report(stream, [['internal', 'yes']], 1), { kind: 'allow_all' });
    t.match(await report(stream, [['closed', 'yes']], 1), { kind: 'deny_all' });
    t.match(await report(stream, [['unknown', 'yes']], 1), { kind: 'allow_all' });
    const entries = ANN.toReversed().map(([key, value]) => ({ key, value }));
    const { body } = await askOverHttp(service.http, { domain: 'demo', descriptors: [{ entries }] });
    const left = Number(body.statuses?.[0]['limitRemaining']);
    t.ok(left < 100_000 - first.tokens * 20, 'callers of ShouldRateLimit see what is granted');
    t.ok(left >= 50_000 - 2, 'a half is left to them');
    stream.end();
    t.equal((await stream.status).code, 0);
  });

t.test('a ban, a pass and an override of an operator apply with the next report', async t => {
  const service = await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });
  const stream = open(t, service);
  t.match(await report(stream, ANN, 1), { kind: 'token_bucket' });
  const entries = ANN.toReversed().map(([key, value]) => ({ key, value }));
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const about = { domain: 'demo', entries, until, reason: 'a test' };
  const steer = async (kind: string, more = {}): Promise<ReadAction> => {
    const { status, json } = await callOperator(service, 'PUT', `/${kind}`, { ...about, ...more });
    t.equal(status, 200);
    const action = await report(stream, ANN, 1);
    await callOperator(service, 'DELETE', `/${kind}/${json.id}`);
    return action;
  };
  t.match(await steer('bans'), { kind: 'deny_all' });
  t.match(await steer('passes'), { kind: 'allow_all' });
  t.match(await steer('overrides', { requests_per_unit: 0 }), { kind: 'deny_all' });
  t.match(await report(stream, ANN, 1), { kind: 'token_bucket' });
});

for (const threads of ['1', '2'])
  t.test(`a rehearsal sees what proxies decide by themselves, in ${threads} threads`, async t => {
    const candidate = writeRules(tempDirectory(t), { 'rules.yaml': RULES.replace('100000', '0') });
    const env = { ADMIN_TOKEN, RUNTIME_CANDIDATE: candidate, SERVE_THREADS: threads };
    const service = await serviceFor(t, { rules: RULES, env });
    const stream = open(t, service);
    await until(async () => {
      await report(stream, ANN, 10);
      const { json } = await callOperator(service, 'GET', '/rehearsal');
      return json.total?.more > 0;
    });
  });

t.test(
  'memcached cannot give hits back, so it grants nothing',
  { skip: missing('memcached', 'memcached') },
  async t => {
    const { address } = await memcachedFor(t);
    const service = await serviceFor(t, {
      rules: RULES,
      env: { BACKEND_TYPE: 'altcache', ALTCACHE_HOST_PORT: address },
    });
    t.match(await open(t, service).status, { code: 12, details: /BACKEND_TYPE/ });
  },
);

t.test('a stream ends when the service shuts down', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const stream = open(t, service);
  await report(stream, ANN, 1);
  const ended = service.terminate();
  t.match(await stream.status, { code: 14 });
  t.match(await ended, { status: 0 });
});
