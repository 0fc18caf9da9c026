import { connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { askOverGrpc, askOverHttp, getPage, grpcTo, statistic } from '../support/asking.ts';
import { descriptor, request } from '../support/decisions.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { launched, ServiceProcess, serviceFor, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const rules = (limit: number): string =>
  `domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: ${limit}}\n`;
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };

function settings(t: { teardown(run: () => void): void }, limit: number): Record<string, string> {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': rules(limit) });
  return { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' };
}

t.test('one process', async t => {
  const trouble = "process.on('SIGUSR2',()=>{Promise.reject(Error('forgotten'))})";
  const preload = `--import=data:text/javascript,${encodeURIComponent(trouble)}`;
  const env: Record<string, string> = { ...settings(t, 1), NODE_OPTIONS: preload, LOG_LEVEL: 'debug' };
  const service = await serviceFor(t, { env });

  await t.test('refusals have the status that tells a proxy what to do', async t => {
    const grpc = grpcTo(t, service.grpc);
    await t.rejects(askOverGrpc(grpc, request('', 'a=x')), /status 3: .*domain.*empty/);
    await t.rejects(askOverGrpc(grpc, request('d')), /status 3: .*descriptors.*empty/);
    const override = descriptor('a=x', { limit: { requestsPerUnit: 1, unit: 99 } });
    await t.rejects(
      askOverGrpc(grpc, { domain: 'd', descriptors: [override], hitsAddend: 0 }),
      /status 3: .*descriptors\[0\]\.limit\.unit/,
    );
    t.match(await askOverHttp(service.http, { domain: 'd', descriptors: [{ entry: [] }] }), { status: 400 });
    t.match(await askOverHttp(service.http, { domain: '', descriptors: [] }), { status: 400 });
    t.equal(await statistic(service.debug, 'ratelimit.service.call.should_rate_limit.service_error'), 4);
  });

  await t.test('edited rules are active at once; an edit with a fault is counted and logged', async t => {
    const loads = (): number => service.logs.filter(line => line['@message'] === 'Rules loaded').length;
    await askOverHttp(service.http, ASK);
    t.match(await askOverHttp(service.http, ASK), { status: 429 });
    writeRules(env['RUNTIME_ROOT'], { 'config/rules.yaml': rules(9) });
    await service.logged(() => loads() === 2);
    t.match(await askOverHttp(service.http, ASK), { status: 200 });
    writeRules(env['RUNTIME_ROOT'], { 'config/rules.yaml': 'domain: d\ndescriptors: [{key: 1.5}]\n' });
    const logged = await service.logged(line => line['level'] === 'error');
    t.match(logged, { '@message': 'Fault in the rules', fault: /config\/rules\.yaml:2:21:/ });
    t.match(await askOverHttp(service.http, ASK), { status: 200 });
    t.equal(await statistic(service.debug, 'ratelimit.service.config_load_error'), 1);
    t.equal(await statistic(service.debug, 'ratelimit.service.config_load_success'), 2);
    t.same(await getPage(service.http, '/healthcheck'), { status: 200, text: 'OK' });
  });

  await t.test('a rejection that nobody handles is logged, and the service goes on', async t => {
    service.signal('SIGUSR2');
    const line = await service.logged(each => /Unhandled promise rejection/.test(String(each['@message'])));
    t.match(line['error'], /forgotten/);
    t.match(await askOverHttp(service.http, ASK), { status: 200 });
  });

  await t.test('LOG_LEVEL is the least severe level that is written: debug', async t => {
    t.ok(service.logs.some(line => line['level'] === 'debug'));
  });
});

t.test('gRPC on a unix socket decides, and the socket is removed at the end', async t => {
  const path = join(tempDirectory(t), 'grpc.sock');
  const service = await startService({ env: { ...settings(t, 1), GRPC_UDS: path } });
  const grpc = new GrpcClient({ path });
  t.teardown(() => grpc.close());
  t.equal((await askOverGrpc(grpc, request('d', 'a=x'))).overallCode, 1);
  t.equal((await askOverGrpc(grpc, request('d', 'a=x'))).overallCode, 2);
  t.match(await service.terminate(), { status: 0 });
  await t.rejects(
    new Promise((resolve, reject) => connect(path).once('connect', resolve).once('error', reject)),
    { code: 'ENOENT' },
  );
});

t.test('one process on Redis', async t => {
  const redis = await redisFor(t);
  const limit = 300;
  const service = await serviceFor(t, {
    env: {
      ...settings(t, limit),
      REDIS_URL: redis.address,
      REDIS_SOCKET_TYPE: 'tcp',
      CACHE_KEY_PREFIX: 'p:',
    },
  });
  const grpc = grpcTo(t, service.grpc);

  await t.test('both fronts count with the key and the time to live of the reference', async t => {
    await askOverHttp(service.http, ASK);
    await askOverGrpc(grpc, request('d', 'a=x'));
    t.equal(
      await statistic(service.debug, 'ratelimit_server.ShouldRateLimit.total_requests'),
      1,
      'calls of `/json` are not counted among those of gRPC',
    );
    const [key] = (await redis.command('KEYS', 'p:d_*')) as string[];
    const today = Math.floor(Date.now() / 86_400_000) * 86_400;
    t.match(key, /^p:d_a_x_\d+$/);
    t.ok(Math.abs(Number(key.split('_').at(-1)) - today) <= 86_400);
    t.equal(await redis.command('GET', key), '2');
    const ttl = Number(await redis.command('TTL', key));
    t.ok(ttl > 86_390 && ttl < 86_400 + 300, `${ttl} s`);
  });

  await t.test('Redis restarted under load gives errors meanwhile, and never a wrong answer', async t => {
    let going = true;
    let errors = 0;
    let passed = 0;
    const remaining: number[] = [];
    const load = async (): Promise<void> => {
      while (going) {
        try {
          const { overallCode, statuses } = await askOverGrpc(grpc, request('d', 'a=load'));
          if (overallCode === 1) {
            passed++;
            remaining.push(statuses[0].limitRemaining);
          }
        } catch (failure) {
          t.match(String(failure), /status 14: Redis at /);
          errors++;
        }
      }
    };
    const callers = Promise.all(Array.from({ length: 8 }, load));
    await until(() => passed >= limit);
    t.equal(passed, limit, 'exactly the limit passes before the fault');
    t.equal(new Set(remaining).size, limit, 'and each of them saw a remaining number of its own');
    await redis.kill();
    await until(() => errors > 20);
    passed = 0;
    remaining.length = 0;
    await redis.restart();
    await until(() => passed >= limit);
    going = false;
    await callers;
    t.equal(passed, limit, 'the empty Redis lets exactly the limit pass again');
    t.equal(new Set(remaining).size, limit);
    t.equal(await statistic(service.debug, 'ratelimit.service.call.should_rate_limit.redis_error'), errors);
  });
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(
    `${signal} turns the health to 500 at once, answers a running call, and ends what is open`,
    async t => {
      const redis = await redisFor(t);
      const service = await startService({ env: { ...settings(t, 9), REDIS_URL: redis.address } });
      const grpc = grpcTo(t, service.grpc);
      await askOverGrpc(grpc, request('d', 'a=x'));
      const watch = grpc.stream('/grpc.health.v1.Health/Watch');
      await watch.next();
      process.kill(redis.pid, 'SIGSTOP');
      const running = askOverGrpc(grpc, request('d', 'a=x'));
      await until(
        async () => (await statistic(service.debug, 'ratelimit_server.ShouldRateLimit.total_requests')) === 2,
      );
      const ended = service.terminate(signal);
      await service.logged(line => line['@message'] === 'Shutting down');
      t.same(await getPage(service.http, '/healthcheck'), { status: 500, text: '' });
      process.kill(redis.pid, 'SIGCONT');
      t.equal((await running).statuses[0].limitRemaining, 7);
      const end = await ended;
      t.match(end, { status: 0, signal: null });
      t.ok(end.elapsedMs < 5_000, `${Math.round(end.elapsedMs)} ms`);
      t.equal((await watch.status).code, 14, 'the open watch is told that the server is unavailable');
    },
  );
}

t.test('a stop waits within its bound for decisions whose callers have gone', async t => {
  const redis = await redisFor(t);
  const service = await startService({
    env: { ...settings(t, 9), REDIS_URL: redis.address, SHUTDOWN_TIMEOUT: '300ms' },
  });
  process.kill(redis.pid, 'SIGSTOP');
  const grpc = grpcTo(t, service.grpc);
  const call = grpc.stream(SHOULD_RATE_LIMIT_PATH, encodeRateLimitRequest(request('d', 'a=x')));
  await until(
    async () => (await statistic(service.debug, 'ratelimit_server.ShouldRateLimit.total_requests')) === 1,
  );
  call.cancel();
  await call.status;
  const end = await service.terminate();
  t.match(end, { status: 0 });
  t.ok(end.elapsedMs >= 300, `${end.elapsedMs} ms`);
  const left = 'Shutdown timeout: the store has not answered some requests';
  t.match(
    service.logs.find(line => line['@message'] === left),
    { level: 'warning', requests: 1 },
  );
});

t.test('logs are text with time, level and msg unless LOG_FORMAT asks for JSON', async t => {
  const bad = settings(t, 9);
  writeRules(bad['RUNTIME_ROOT'], { 'config/rules.yaml': 'domain: ""\n' });
  const json = launched(t, { env: { ...bad, LOG_LEVEL: 'info' } });
  await json.logged(line => line['level'] === 'error');
  t.match(json.logs[0], { '@message': String, '@timestamp': /^\d{4}-\d\d-\d\dT/, level: 'error' });
  const text = new ServiceProcess({ env: { ...bad, LOG_FORMAT: 'text', LOG_LEVEL: 'error' } });
  await text.written(/^time="[^"]+" level=error msg="Fault in the rules" fault="/m);
  await t.test('LOG_LEVEL is the least severe level that is written: info, error', async t => {
    t.match(await json.terminate(), { status: 0 });
    const levels = new Set(json.logs.map(line => line['level']));
    t.ok(levels.has('info') && !levels.has('debug'), [...levels].join());
    t.match(await text.terminate(), { status: 0 });
    t.same([...new Set(text.output.match(/ level=\w+/g))], [' level=error']);
  });
});
