import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { type FrontClient, grpcFront } from '../support/exactness/fronts.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { msUntilAnswer, until } from '../support/until.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
`;
/** A limit that no test reaches, however fast it asks. */
const MANY = 1_000_000_000;
/** More connections than threads, so that each thread has some. */
const CONNECTIONS = 6;

type Json = Readonly<Record<string, unknown>>;

function about(user: string, forMs = 3_600_000): Json {
  return {
    domain: 'shop',
    entries: [{ key: 'user', value: user }],
    until: new Date(Date.now() + forMs).toISOString(),
    reason: 'a test',
  };
}

async function started(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN, ...env } });
}

/** Connections to all threads of a service. */
function connections(t: Test, service: ServiceProcess): FrontClient[] {
  const fronts = Array.from({ length: CONNECTIONS }, () => grpcFront(service.grpc));
  t.teardown(() => {
    for (const front of fronts) front.close();
  });
  return fronts;
}

/** The different answers that all connections get about a user: one, if the process is of one mind. */
async function codes(fronts: readonly FrontClient[], user: string): Promise<string> {
  const descriptors = [{ entries: [{ key: 'user', value: user }], limit: null, hitsAddend: null }];
  const asked = fronts.map(front => front.ask({ domain: 'shop', descriptors, hitsAddend: 0 }));
  const told = (await Promise.all(asked)).map(answer => ('overall' in answer ? answer.overall : 'none'));
  return [...new Set(told)].sort().join(' and ');
}

t.test('a change is active within a second also without a token, over kills of Redis', async t => {
  const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
  const redis = await redisFor(t, { args });
  const env = { BACKEND_TYPE: 'redis', REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address };
  const first = await started(t, { ...env, SERVE_THREADS: '2' });
  const second = await started(t, { ...env, SERVE_THREADS: '1', WORKER_THREADS: '1', ADMIN_TOKEN: '' });
  const here = connections(t, first);
  const there = connections(t, second);
  const spreads = async (user: string, code: string): Promise<void> => {
    t.equal(await codes(here, user), code, 'at once in all threads of the process that made the change');
    const ms = await msUntilAnswer(async () => (await codes(there, user)) === code);
    t.ok(ms < 1_000, `in the other process after ${Math.round(ms)} ms`);
  };
  for (let i = 0; i < 2; i++) {
    const user = `ann${i}`;
    const { status, json } = await callOperator(first, 'PUT', '/bans', about(user));
    t.equal(status, 200);
    await spreads(user, 'OVER_LIMIT');
    await callOperator(first, 'PUT', '/passes', about(user));
    await callOperator(first, 'DELETE', `/bans/${json.id}`);
    await spreads(user, 'OK');
    await redis.kill();
    t.match(await callOperator(first, 'PUT', '/bans', about(user)), {
      status: 503,
      json: { code: 'store_unavailable' },
    });
    await redis.restart();
    await until(async () => (await callOperator(first, 'PUT', '/bans', about(user))).status === 200);
    await spreads(user, 'OVER_LIMIT');
  }
  t.match((await callOperator(second, 'GET', '/bans')).json, {
    bans: [{ domain: 'shop' }, { domain: 'shop' }],
  });
  const third = await started(t, { ...env, LOCAL_CACHE_SIZE_IN_BYTES: '100000' });
  t.equal(
    await codes(connections(t, third), 'ann1'),
    'OVER_LIMIT',
    'a process that starts knows the records',
  );
  await t.test('an override continues the count, ends by itself, and explanations name it', t =>
    overridden(t, third),
  );
});

async function overridden(t: Test, service: ServiceProcess): Promise<void> {
  const fronts = connections(t, service);
  await codes(fronts, 'ann');
  t.equal(await codes(fronts, 'ann'), 'OVER_LIMIT');
  const override = { ...about('ann', 3_000), requests_per_unit: MANY };
  const put = await callOperator(service, 'PUT', '/overrides', override);
  t.match(put, {
    status: 200,
    json: { kind: 'override', requests_per_unit: MANY, by: /token [0-9a-f]{8} from / },
  });
  t.equal(await codes(fronts, 'ann'), 'OK');
  const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
  const explained = await fetch(`http://${service.debug}/explain`, {
    method: 'POST',
    body: JSON.stringify(asked),
  });
  t.match(await explained.json(), {
    descriptors: [{ limit: { requestsPerUnit: MANY }, steering: { id: put.json.id, reason: 'a test' } }],
  });
  await until(async () => (await codes(fronts, 'ann')) === 'OVER_LIMIT');
  t.ok(Date.now() >= Date.parse(put.json.until), 'not before its time');
  t.strictSame((await callOperator(service, 'GET', '/overrides')).json, { overrides: [] });
}

t.test('with the embedded store, records are in all threads, and survive a restart', async t => {
  const env = {
    SERVE_THREADS: '2',
    MEMORY_STORE_SNAPSHOT_PATH: join(tempDirectory(t), 'counters'),
  };
  const first = await started(t, env);
  await callOperator(first, 'PUT', '/bans', { ...about('x'), entries: [{ key: 'user', value: '*bot*' }] });
  t.equal(await codes(connections(t, first), 'a-bot-1'), 'OVER_LIMIT');
  const { body } = await askOverHttp(first.http, {
    domain: 'shop',
    descriptors: [{ entries: [{ key: 'user', value: 'robot' }] }],
  });
  t.equal(body.overallCode, 'OVER_LIMIT', 'in the primary thread');
  const audit = await first.logged(line => line['@message'] === 'Operator change');
  t.match(audit, { operation: 'putBan', reason: 'a test', entries: '[{"key":"user","value":"*bot*"}]' });
  await t.test('faults of a record are listed', t => faultsAreListed(t, first));
  await first.terminate();
  const second = await started(t, env);
  t.equal(await codes(connections(t, second), 'a-bot-2'), 'OVER_LIMIT');
  const { bans } = (await callOperator(second, 'GET', '/bans')).json;
  t.equal((await callOperator(second, 'DELETE', `/bans/${bans[0].id}?reason=over`)).status, 200);
  t.equal(await codes(connections(t, second), 'a-bot-3'), 'OK and OVER_LIMIT', 'the limit applies again');
  t.match(await callOperator(second, 'DELETE', `/bans/${bans[0].id}`), {
    status: 404,
    json: { code: 'not_found' },
  });
});

async function faultsAreListed(t: Test, service: ServiceProcess): Promise<void> {
  const faulty = await callOperator(service, 'PUT', '/bans', {
    ...about('ann'),
    until: 'never',
    entries: [],
  });
  t.match(faulty, { status: 422, json: { code: 'validation_failed' } });
  const errors: readonly { pointer: string }[] = faulty.json.errors;
  t.strictSame(errors.map(({ pointer }) => pointer).sort(), ['/entries', '/until']);
  t.equal((await callOperator(service, 'PUT', '/bans', { ...about('ann'), factor: 1 })).status, 422);
}

t.test('with memcached and without a token, there are no records', async t => {
  const memcached = await started(t, { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: '127.0.0.1:1' });
  t.match(await callOperator(memcached, 'PUT', '/bans', about('ann')), {
    status: 501,
    json: { code: 'not_supported' },
  });
  const open = await started(t, { ADMIN_TOKEN: '' });
  t.match(await callOperator(open, 'PUT', '/bans', about('ann')), { status: 403 });
  t.strictSame((await callOperator(open, 'GET', '/bans')).json, { bans: [] });
});
