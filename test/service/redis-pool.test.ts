import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, dialled, statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { type RedisServer, redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { PLAIN_USER, WITHOUT_SCRIPTS } from '../support/stores.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `domain: d
descriptors:
  - {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
  - {key: day, rate_limit: {unit: day, requests_per_unit: 1000}}
`;

/** The two instances, each with the unit whose limits it counts and the name of its pool in the statistics. */
const INSTANCES = [
  { at: 'main', key: 'day', pool: 'ratelimit.redis_pool' },
  { at: 'perSecond', key: 'second', pool: 'ratelimit.redis_per_second_pool' },
] as const;

const main = await redisFor(t, { args: WITHOUT_SCRIPTS });
const perSecond = await redisFor(t, { args: WITHOUT_SCRIPTS });
const servers = { main, perSecond };

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, {
    env: {
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
      KVCACHE_URL: main.address,
      KVCACHE_AUTH: PLAIN_USER,
      KVCACHE_PERSECOND: 'true',
      KVCACHE_PERSECOND_URL: perSecond.address,
      KVCACHE_PERSECOND_AUTH: PLAIN_USER,
      // Threads have pools of their own.
      WORKER_THREADS: '0',
      ...env,
    },
  });
}

/** Pools of one connection, and what happens while it is at work. */
const onePooled = (behavior: string) => ({
  KVCACHE_POOL_SIZE: '1',
  KVCACHE_POOL_ON_EMPTY_BEHAVIOR: behavior,
  KVCACHE_POOL_ON_EMPTY_WAIT_DURATION: '10ms',
  KVCACHE_PERSECOND_POOL_SIZE: '1',
  KVCACHE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR: behavior,
  KVCACHE_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION: '11ms',
});

/** A call that waits for the store. */
interface Call {
  /** `OK`, or how it failed. */
  readonly answer: Promise<string>;
}

/** Asks for decisions, each in a batch of its own. */
class Caller {
  readonly #service: ServiceProcess;
  readonly #grpc: GrpcClient;
  #calls = 0;

  constructor(t: Test, service: ServiceProcess) {
    this.#service = service;
    this.#grpc = new GrpcClient(dialled(service.grpc));
    t.teardown(() => this.#grpc.close());
  }

  /** Resolves once the call has come in; its batch leaves in the same turn. */
  async ask(key: string): Promise<Call> {
    const asked = askOverGrpc(this.#grpc, request('d', `${key}=x`));
    const answer = asked.then(({ overallCode }) => (overallCode === 1 ? 'OK' : 'over its limit'), String);
    const calls = ++this.#calls;
    const counted = 'ratelimit_server.ShouldRateLimit.total_requests';
    await until(async () => (await statistic(this.#service.debug, counted)) === calls);
    return { answer };
  }
}

/**
 * Redis takes connections and says that it is there, but counts nothing before {@link resume}. Where scripts are tried
 * on a new connection, that would have to wait as well.
 */
async function pause(redis: RedisServer): Promise<void> {
  await redis.command('CLIENT', 'PAUSE', 60_000, 'WRITE');
}

async function resume(redis: RedisServer): Promise<void> {
  await redis.command('CLIENT', 'UNPAUSE');
}

t.test('KVCACHE_POOL_SIZE is how many connections are opened, by each instance its own', async t => {
  const service = await start(t, {
    ...onePooled('wait'),
    KVCACHE_POOL_SIZE: '3',
    KVCACHE_PERSECOND_POOL_SIZE: '2',
  });
  const caller = new Caller(t, service);
  for (const { at, key, pool } of INSTANCES) {
    const size = at === 'main' ? 3 : 2;
    await pause(servers[at]);
    const calls: Call[] = [];
    for (let call = 0; call < 4; call++) calls.push(await caller.ask(key));
    await until(async () => (await statistic(service.debug, `${pool}.cx_active`)) === size);
    await resume(servers[at]);
    for (const { answer } of calls) t.equal(await answer, 'OK');
    t.equal(await statistic(service.debug, `${pool}.cx_total`), size, `${at}: no call needed one more`);
  }
});

t.test('KVCACHE_POOL_ON_EMPTY_BEHAVIOR=error fails after the wait, with the length that is set', async t => {
  const service = await start(t, onePooled('ERROR'));
  const caller = new Caller(t, service);
  for (const { at, key } of INSTANCES) {
    await pause(servers[at]);
    const first = await caller.ask(key);
    const second = await caller.ask(key);
    const waited = at === 'main' ? 10 : 11;
    t.match(await second.answer, new RegExp(`status 14: Redis at .* none became free within ${waited} ms`));
    await resume(servers[at]);
    t.equal(await first.answer, 'OK');
  }
});

t.test('KVCACHE_POOL_ON_EMPTY_BEHAVIOR=create opens one connection more after the wait', async t => {
  const service = await start(t, onePooled('CREATE'));
  const caller = new Caller(t, service);
  for (const { at, key, pool } of INSTANCES) {
    await pause(servers[at]);
    const calls = [await caller.ask(key), await caller.ask(key)];
    await until(async () => (await statistic(service.debug, `${pool}.cx_active`)) === 2);
    await resume(servers[at]);
    for (const { answer } of calls) t.equal(await answer, 'OK');
    await until(async () => (await statistic(service.debug, `${pool}.cx_active`)) === 1);
    t.equal(await statistic(service.debug, `${pool}.cx_total`), 2, `${at}: it is closed again`);
  }
});

t.test('KVCACHE_TIMEOUT is how long an answer is waited for, of each instance its own', async t => {
  const service = await start(t, { KVCACHE_TIMEOUT: '1s', KVCACHE_PERSECOND_TIMEOUT: '900ms' });
  const waiting: ({ readonly at: 'main' | 'perSecond' } & Call)[] = [];
  const caller = new Caller(t, service);
  for (const { at, key } of INSTANCES) {
    servers[at].freeze();
    waiting.push({ at, ...(await caller.ask(key)) });
  }
  for (const { at, answer } of waiting) {
    const waited = at === 'main' ? 1_000 : 900;
    t.match(await answer, `status 14: Redis at ${servers[at].address}: no answer within ${waited} ms`);
    servers[at].thaw();
  }
});

t.test('KVCACHE_PIPELINE_WINDOW holds requests back for as long; of two the longer counts', async t => {
  for (const env of [
    { KVCACHE_PIPELINE_WINDOW: '300ms' },
    { KVCACHE_PIPELINE_WINDOW: '150us', KVCACHE_PERSECOND_PIPELINE_WINDOW: '300ms' },
  ]) {
    const service = await start(t, env);
    const askedAt = performance.now();
    const { status } = await askOverHttp(service.http, {
      domain: 'd',
      descriptors: [{ entries: [{ key: 'day', value: 'x' }] }],
    });
    t.equal(status, 200);
    t.ok(performance.now() - askedAt >= 300, JSON.stringify(env));
  }
});
