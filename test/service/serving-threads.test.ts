import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { CODE } from '../../src/decision/batch.ts';
import { SERVING_STATUS } from '../../src/messages/health-codec.ts';
import { askOverGrpc, getPage, grpcTo, statistic } from '../support/asking.ts';
import { descriptor, request } from '../support/decisions.ts';
import { startedRedis } from '../support/exactness/expect.ts';
import { ruleSettings, startProcesses } from '../support/exactness/setup.ts';
import type { GrpcClient } from '../support/grpc-client.ts';
import { decodeHealthCheckResponse, encodeHealthCheckRequest } from '../support/health-messages.ts';
import { ReloadLoad } from '../support/reload-load.ts';
import { writeRules } from '../support/rule-files.ts';
import { ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

/** Connections of which each of two threads surely gets some. */
const CONNECTIONS = 20;
const THREADS = 2;
const LIMIT = 1_000_000;
/** The number of the unit in requests. */
const YEAR = 6;

const rules = (limit: number): string =>
  `domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: ${limit}}\n`;

async function start(t: Test, env: Readonly<Record<string, string>> = {}) {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': rules(LIMIT) });
  const service = await serviceFor(t, {
    env: { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', SERVE_THREADS: String(THREADS), ...env },
  });
  return { root, service };
}

/** Clients with a connection each. */
function clients(t: Test, service: ServiceProcess, count: number): readonly GrpcClient[] {
  return Array.from({ length: count }, () => {
    const client = grpcTo(t, service.grpc);
    return client;
  });
}

interface ThreadLoad {
  readonly connections: number;
  readonly decisions: number;
}

async function loads(service: ServiceProcess): Promise<readonly ThreadLoad[]> {
  // Reading the statistics makes the threads write their figures.
  await statistic(service.debug, 'ratelimit.service.serving_threads');
  return JSON.parse((await getPage(service.http, '/healthcheck?verbose')).text).serving_threads;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

async function askJson({ http }: ServiceProcess): Promise<number> {
  const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] });
  const headers = { connection: 'close' };
  const response = await fetch(`http://${http}/json`, { method: 'POST', body, headers });
  return ((await response.json()) as { statuses: { limitRemaining: number }[] }).statuses[0].limitRemaining;
}

/** All threads answer, and count together. */
async function spreadAndCount(t: Test, service: ServiceProcess, engine: 'uws' | 'node'): Promise<void> {
  const asked = clients(t, service, CONNECTIONS);
  const overGrpc = await Promise.all(asked.map(client => askOverGrpc(client, request('d', 'a=x'))));
  const overHttp = await Promise.all(Array.from({ length: CONNECTIONS }, () => askJson(service)));
  const remaining = [...overGrpc.map(({ statuses }) => statuses[0].limitRemaining), ...overHttp];
  t.same(
    remaining.sort((a, b) => b - a),
    Array.from({ length: 2 * CONNECTIONS }, (_, i) => LIMIT - 1 - i),
    'no number was given twice',
  );
  const shown = await loads(service);
  t.equal(shown.length, THREADS);
  t.ok(
    shown.every(({ connections }) => connections > 0),
    'each thread has connections',
  );
  const inThreads = engine === 'node' ? 2 * CONNECTIONS : CONNECTIONS;
  t.equal(sum(shown.map(({ decisions }) => decisions)), inThreads);
  const hits = await statistic(service.debug, 'ratelimit.service.rate_limit.d.a.total_hits');
  t.equal(hits, 2 * CONNECTIONS, 'one page has the hits of all threads');
  const calls = await statistic(service.debug, 'ratelimit_server.ShouldRateLimit.total_requests');
  t.equal(calls, CONNECTIONS);
}

t.test('HTTP by uWebSockets.js', async t => {
  const { service } = await start(t, { HTTP_SERVER_ENGINE: 'uws', LOCAL_CACHE_SIZE_IN_BYTES: '4194304' });
  await t.test('connections spread over the threads, which count together', t =>
    spreadAndCount(t, service, 'uws'),
  );
  await t.test('a refund on one thread is known to the local caches of all threads', t =>
    refundsAreKnown(t, service),
  );
  await t.test('on SIGTERM every connection is told that the service is unhealthy before it ends', t =>
    toldBeforeTheEnd(t, service),
  );
});

t.test('HTTP by Node.js', async t => {
  const { root, service } = await start(t, { HTTP_SERVER_ENGINE: 'node' });
  await t.test('connections spread over the threads, which count together', t =>
    spreadAndCount(t, service, 'node'),
  );
  await t.test(
    'without SHARE_PORTS, a second process with serving threads does not share a port',
    async t => {
      const [PORT, GRPC_PORT] = [service.http, service.grpc].map(address => address.split(':')[1]);
      for (const [env, message] of [
        [{ GRPC_PORT }, /set GRPC_PORT to a free port/],
        [{ PORT }, /set PORT to a free port/],
      ] as const) {
        const second = new ServiceProcess({
          env: { RUNTIME_ROOT: root, SERVE_THREADS: String(THREADS), HTTP_SERVER_ENGINE: 'node', ...env },
        });
        t.match(await second.ended, { status: 2 });
        t.match(second.output, message);
      }
    },
  );
});

async function refundsAreKnown(t: Test, service: ServiceProcess): Promise<void> {
  const everywhere = clients(t, service, CONNECTIONS);
  const limit = { requestsPerUnit: 1, unit: YEAR };
  const codesOf = async (): Promise<number[]> => {
    const ask = { domain: 'd', descriptors: [descriptor('a=y', { limit })], hitsAddend: 0 };
    const codes: number[] = [];
    for (const client of everywhere) codes.push((await askOverGrpc(client, ask)).overallCode);
    return codes;
  };
  const first = [CODE.ok, ...Array.from({ length: everywhere.length - 1 }, () => CODE.overLimit)];
  t.same(await codesOf(), first);
  for (const client of everywhere.slice(0, 4)) {
    const back = descriptor('a=y', { limit, hitsAddend: 1_000, isNegativeHits: true });
    await askOverGrpc(client, { domain: 'd', descriptors: [back], hitsAddend: 0 });
    t.same(await codesOf(), first, 'the first one passes, although the caches had the key as over its limit');
  }
  t.ok((await statistic(service.debug, 'ratelimit.localcache.hitCount')) > everywhere.length);
}

async function toldBeforeTheEnd(t: Test, service: ServiceProcess): Promise<void> {
  const watches = clients(t, service, CONNECTIONS).map(client =>
    client.stream('/grpc.health.v1.Health/Watch', encodeHealthCheckRequest('ratelimit')),
  );
  const next = async (): Promise<Set<number>> =>
    new Set((await Promise.all(watches.map(watch => watch.next()))).map(decodeHealthCheckResponse));
  t.same(await next(), new Set([SERVING_STATUS.serving]));
  service.signal('SIGTERM');
  t.same(await next(), new Set([SERVING_STATUS.notServing]));
  const ends = await Promise.all(watches.map(watch => watch.status));
  t.same(new Set(ends.map(({ code }) => code)), new Set([14]));
  t.match(await service.ended, { status: 0, signal: null });
}

/** Calls of both fronts, which must not fail. */
function loadOf(t: Test, { http, grpc }: ServiceProcess): ReloadLoad {
  const load = new ReloadLoad({
    ...{ http, grpc },
    json: { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] },
    message: request('d', 'a=x'),
  });
  t.teardown(() => load.close());
  return load;
}

t.test('one process replaces another on the same ports, and no call fails', async t => {
  const env = { ...ruleSettings(t, rules(LIMIT)), SERVE_THREADS: String(THREADS) };
  const [first] = await startProcesses(t, 1, env);
  const [PORT, GRPC_PORT] = [first.http, first.grpc].map(address => address.split(':')[1]);
  const load = loadOf(t, first);
  await load.during(async () => {
    await serviceFor(t, { env: { ...env, SHARE_PORTS: 'true', PORT, GRPC_PORT } });
    await first.terminate();
    const answered = load.answered;
    await until(() => load.answered > answered + 100);
  });
  t.same(load.failures, []);
});

t.test('on a unix socket the primary thread serves, and the log says so', async t => {
  const path = join(tempDirectory(t), 'grpc.sock');
  const { service } = await start(t, { GRPC_UDS: path, LOG_LEVEL: 'info' });
  t.match(
    service.logs.find(line => line['@message'] === 'gRPC is served by the primary thread'),
    { level: 'info', reason: /GRPC_UDS/ },
  );
  const [client] = clients(t, service, 1);
  t.equal((await askOverGrpc(client, request('d', 'a=x'))).statuses[0].limitRemaining, LIMIT - 1);
  t.equal(await loads(service), undefined);
});

t.test('threads and the primary thread have 2 connections to Redis together', async t => {
  const redis = await startedRedis(t);
  const env = { REDIS_URL: redis.address, REDIS_POOL_SIZE: '2', GRPC_MAX_CONNECTION_AGE: '300ms' };
  const { service } = await start(t, env);
  const asked = clients(t, service, CONNECTIONS);
  const answers = await Promise.all(asked.map(client => askOverGrpc(client, request('d', 'a=x'))));
  t.same(
    answers.map(({ statuses }) => LIMIT - statuses[0].limitRemaining).sort((a, b) => a - b),
    Array.from({ length: CONNECTIONS }, (_, i) => i + 1),
  );
  const list = String(await redis.command('CLIENT', 'LIST')).split('\n');
  const counting = list.filter(line => /cmd=(?!client|NULL)/.test(line) && !/sub=[1-9]/.test(line));
  t.ok(counting.length <= 2, `${counting.length} connections`);

  await t.test('connections that have reached their age move without a failed call', async t => {
    const load = loadOf(t, service);
    await load.during(() => sleep(1_000));
    t.same(load.failures, []);
  });
});
