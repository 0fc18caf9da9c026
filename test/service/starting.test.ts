import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo, statistic } from '../support/asking.ts';
import { Child } from '../support/child-process.ts';
import { request } from '../support/decisions.ts';
import { freePort } from '../support/free-port.ts';
import type { GrpcClient } from '../support/grpc-client.ts';
import { redisFor } from '../support/redis-server.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { isListening, launched, ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const GOOD = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: hour, requests_per_unit: 2}\n';
const BAD = 'domain: d\ndescriptors:\n  - key: a\n    ratelimit: {unit: hour, requests_per_unit: 2}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };

const watching = (root: string): Record<string, string> => ({
  RUNTIME_ROOT: root,
  RUNTIME_APPDIRECTORY: 'config',
  RUNTIME_WATCH_ROOT: 'false',
});

t.test('warnings about settings are logged, and the service starts', async t => {
  const redis = await redisFor(t, { args: ['--requirepass', 's3cret'] });
  const service = await serviceFor(t, {
    env: {
      ...watching(rulesIn(t, GOOD)),
      REDIS_URL: `redis://:s3cret@${redis.address}`,
      REDIS_POOL_SIZE: '5000',
      REDIS_PIPELINE_LIMIT: '8',
      KVCACHE_PERSECOND_PIPELINE_LIMIT: '0',
      REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR: 'false',
      MEMCACHE_MAX_IDLE_CONNS: '100',
      LIMIT_RESPONSE_HEADER_ENABLED: 's3cret',
    },
  });
  const warnings = service.logs.filter(line => line['level'] === 'warning');
  t.match(warnings, [
    { given: 'REDIS_POOL_SIZE="5000"', used: '1000' },
    { given: 'MEMCACHE_MAX_IDLE_CONNS="100"', used: '64' },
    { '@message': 'Setting has no effect', name: 'REDIS_PIPELINE_LIMIT' },
    { name: 'REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR', reason: /always replaced/ },
    { store: 'redis', settings: 'MEMCACHE_MAX_IDLE_CONNS' },
    { name: 'LIMIT_RESPONSE_HEADER_ENABLED', closest: 'LIMIT_RESPONSE_HEADERS_ENABLED' },
  ]);
  t.equal(warnings.length, 6);
  const ready = await service.logged(line => line['@message'] === 'Sluice is ready');
  t.equal(ready['store'], `Redis at redis://*****@${redis.address}`);
  t.notMatch(service.output, 's3cret');
});

t.test(
  'settings of a store without its address prevent the start; misspelled names are reported',
  async t => {
    const service = new ServiceProcess({
      env: { ...watching(rulesIn(t, GOOD)), REDIS_ULR: 'redis:6379', REDIS_AUTH: 's3cret' },
    });
    t.match(await service.ended, { status: 2 });
    t.match(service.logs, [
      {
        setting: 'REDIS_AUTH=***',
        problem: /^these settings belong to Redis or memcached/,
        accepted: /BACKEND_TYPE=memory/,
      },
      { name: 'REDIS_ULR', closest: 'REDIS_URL' },
      { '@message': 'Sluice cannot start' },
    ]);
    t.notMatch(service.output, 's3cret');
  },
);

const oneLoopback = process.platform !== 'linux' && 'this system has one loopback address only';

t.test('each server listens at its own host and port', { skip: oneLoopback }, async t => {
  const [PORT, GRPC_PORT, DEBUG_PORT] = await Promise.all([freePort(), freePort(), freePort()]);
  const service = await serviceFor(t, {
    env: {
      ...watching(rulesIn(t, GOOD)),
      HOST: '127.0.0.2',
      PORT: String(PORT),
      GRPC_HOST: '127.0.0.3',
      GRPC_PORT: String(GRPC_PORT),
      DEBUG_HOST: '127.0.0.4',
      DEBUG_PORT: String(DEBUG_PORT),
    },
  });
  t.equal(service.http, `127.0.0.2:${PORT}`);
  t.equal(service.grpc, `127.0.0.3:${GRPC_PORT}`);
  t.equal(service.debug, `127.0.0.4:${DEBUG_PORT}`);
  t.match(await askOverHttp(service.http, ASK), { status: 200 });
  t.equal((await getPage(service.debug, '/rlconfig')).status, 200);
  t.equal((await askOverGrpc(client(t, service), request('d', 'a=x'))).overallCode, 1);
});

t.test('without the debug port the service works', async t => {
  const host = '256.256.256.256';
  const service = await serviceFor(t, {
    env: { ...watching(rulesIn(t, GOOD)), DEBUG_HOST: host },
    fronts: ['http', 'grpc'],
  });
  t.match(await askOverHttp(service.http, ASK), { status: 200 });
  t.match(service.output, /Debug port could not be opened; retrying/);
});

t.test('a store larger than the memory ends the start with a text that names the setting', async t => {
  const launcher = join(repositoryRoot(), 'ops/launch/sluice.mjs');
  // 3.2 GB of counters in an address space of 3 GB.
  const command = 'ulimit -v 3000000 && exec "$0" "$1" serve';
  const service = new Child({
    command: 'sh',
    args: ['-c', command, process.execPath, launcher],
    env: { ...watching(rulesIn(t, GOOD)), PATH: process.env['PATH'], MEMORY_STORE_MAX_KEYS: '67108864' },
  });
  t.match(await service.ended, { status: 2 });
  t.equal(
    service.output,
    'sluice serve: the service could not start: there is not enough memory for MEMORY_STORE_MAX_KEYS=67108864; ' +
      'set a smaller number, or give the process more memory\n',
  );
});

t.test('a second process on the same ports fails without touching those of the first', async t => {
  const env = watching(rulesIn(t, GOOD));
  const first = await serviceFor(t, { env });
  const [PORT, GRPC_PORT] = [first.http, first.grpc].map(address => address.split(':')[1]);
  const second = new ServiceProcess({ env: { ...env, PORT, GRPC_PORT } });
  t.match(await second.ended, { status: 2 });
  t.match(second.output, new RegExp(`${GRPC_PORT}[\\s\\S]*GRPC_PORT`), 'the port and its setting');
  t.match(await askOverHttp(first.http, ASK), { status: 200 });
});

/** Looks up host names only once the process is told to stop, and tells when it is asked to: a slow resolver. */
const SLOW_RESOLVER = `
  import dns from 'node:dns';
  import { isIP } from 'node:net';
  const lookup = dns.lookup;
  dns.lookup = (name, ...rest) => {
    if (isIP(name) !== 0) return lookup(name, ...rest);
    process.stderr.write('a host name is looked up\\n');
    process.once('SIGTERM', () => setImmediate(() => lookup(name, ...rest)));
  };`;

t.test('a signal while the ports are being opened ends the process with status 0', async t => {
  const service = new ServiceProcess({
    env: {
      ...watching(rulesIn(t, GOOD)),
      GRPC_HOST: 'localhost',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SLOW_RESOLVER)}`,
    },
  });
  await service.written(/a host name is looked up/);
  t.match(await service.terminate('SIGTERM'), { status: 0, signal: null });
  const messages = service.logs.map(line => line['@message']);
  t.equal(messages.at(-1), 'Shutdown complete');
  t.notOk(service.logs.some(isListening));
});

t.test('invalid rules at startup keep the ports closed until they are fixed', async t => {
  const root = rulesIn(t, BAD);
  const service = launched(t, { env: watching(root) });
  const fault = await service.logged(line => line['level'] === 'error');
  t.match(fault['fault'], /config\/rules\.yaml:4:5: .*ratelimit.*rate_limit/);
  await service.logged(line => /^Ports stay closed until rules are loaded/.test(String(line['@message'])));
  t.notOk(service.logs.some(isListening));
  writeRules(root, { 'config/rules.yaml': GOOD });
  await service.listening(['http', 'grpc', 'debug'], 10_000);
  t.match(await askOverHttp(service.http, ASK), { status: 200 });
  t.equal(await statistic(service.debug, 'ratelimit.service.config_load_error'), 1);
  t.equal(await statistic(service.debug, 'ratelimit.service.config_load_success'), 1);
});

t.test('FORCE_START_WITHOUT_INITIAL_CONFIG opens the ports, and calls say what is missing', async t => {
  const root = rulesIn(t, BAD);
  const service = await serviceFor(t, {
    env: { ...watching(root), FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' },
  });
  t.match(await askOverHttp(service.http, ASK), { status: 503, body: { error: { code: 'no_rules' } } });
  const grpc = client(t, service);
  await t.rejects(askOverGrpc(grpc, request('d', 'a=x')), /status 14: .*no rules/);
  t.equal(await statistic(service.debug, 'ratelimit.service.call.should_rate_limit.service_error'), 2);
  t.equal((await getPage(service.debug, '/rlconfig')).text, '');
  t.match(JSON.parse((await getPage(service.http, '/healthcheck?verbose')).text), {
    healthy: true,
    components: { config: false },
    decides: { config: false },
    notes: { config: 'no domain is loaded' },
  });
  writeRules(root, { 'config/rules.yaml': GOOD });
  await service.logged(line => line['@message'] === 'Rules loaded');
  t.match(await askOverHttp(service.http, ASK), { status: 200 });
});

t.test('HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED makes health follow the domains', async t => {
  const root = rulesIn(t, BAD);
  const service = await serviceFor(t, {
    env: {
      ...watching(root),
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true',
    },
  });
  const grpc = client(t, service);
  t.same(await getPage(service.http, '/healthcheck'), { status: 500, text: '' });
  t.same([await health(grpc, 'ratelimit'), await health(grpc, '')], ['NOT_SERVING', 'SERVING']);
  writeRules(root, { 'config/rules.yaml': GOOD });
  await service.logged(line => line['@message'] === 'Rules loaded');
  t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' });
  t.same([await health(grpc, 'ratelimit'), await health(grpc, '')], ['SERVING', 'SERVING']);
  t.equal(await health(grpc, 'another'), 'status 5');
  t.equal(await statistic(service.debug, 'ratelimit_server.Check.total_requests'), 5);
});

t.test('no port opens before Redis answers; a signal ends the waiting with status 0', async t => {
  const port = await freePort();
  const env = {
    ...watching(rulesIn(t, GOOD)),
    REDIS_URL: `127.0.0.1:${port}`,
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_STARTUP_INITIAL_INTERVAL: '10ms',
    REDIS_STARTUP_MAX_INTERVAL: '50ms',
  };
  const waiting = new ServiceProcess({ env });
  await waiting.logged(line => /^Redis is unavailable; ports stay closed/.test(String(line['@message'])));
  t.match(await waiting.terminate(), { status: 0, signal: null });
  const service = launched(t, { env });
  await service.logged(line => /^Redis is unavailable; ports stay closed/.test(String(line['@message'])));
  t.notOk(service.logs.some(isListening));
  const redis = await redisFor(t, { port });
  await service.listening(['http'], 10_000);
  t.match(await askOverHttp(service.http, ASK), { status: 200 });
  t.match(await redis.command('KEYS', 'd_*'), { length: 1 });
});

t.test('a Redis that does not come within the bound ends the start with status 2', async t => {
  const port = await freePort();
  const service = new ServiceProcess({
    env: {
      ...watching(rulesIn(t, GOOD)),
      KVCACHE_URL: `redis://:s3cret@127.0.0.1:${port}`,
      KVCACHE_STARTUP_INITIAL_INTERVAL: '10ms',
      KVCACHE_STARTUP_MAX_ELAPSED_TIME: '100ms',
    },
  });
  t.match(await service.ended, { status: 2 });
  t.match(
    service.output,
    new RegExp(`could not connect to Redis at redis://\\*\\*\\*\\*\\*@127\\.0\\.0\\.1:${port} within`),
  );
  t.notMatch(service.output, /s3cret/);
});

/** A gRPC client of the service, which ends with the test. */
function client(t: Test, service: ServiceProcess): GrpcClient {
  const grpc = grpcTo(t, service.grpc);
  return grpc;
}

/** What the health service of gRPC says of a name: a status, or that of a refusal. */
async function health(grpc: GrpcClient, name: string): Promise<string> {
  const asked = Buffer.concat([Buffer.of(0x0a, name.length), Buffer.from(name)]);
  const { status, response } = await grpc.unary('/grpc.health.v1.Health/Check', asked);
  if (status !== 0) return `status ${status}`;
  return response.equals(Buffer.of(0x08, 1)) ? 'SERVING' : 'NOT_SERVING';
}

function rulesIn(t: { teardown(run: () => void): void }, text: string): string {
  return writeRules(tempDirectory(t), { 'config/rules.yaml': text });
}
