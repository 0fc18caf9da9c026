import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { createDecisionThreads } from '../../../src/app/decision-threads.ts';
import { engineOptions, openOverLimitCache } from '../../../src/app/engine-settings.ts';
import { OverLimitFigures } from '../../../src/app/over-limit-figures.ts';
import { StoreHealth } from '../../../src/app/store-health.ts';
import { createStore } from '../../../src/app/stores.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Health } from '../../../src/base/health.ts';
import { OutageLog } from '../../../src/base/outage-log.ts';
import { Batcher } from '../../../src/decision/batcher.ts';
import { Engine } from '../../../src/decision/engine.ts';
import { RuleGeneration } from '../../../src/decision/generation.ts';
import { RuleStatistics } from '../../../src/decision/rule-statistics.ts';
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
} from '../../../src/messages/client-codec.ts';
import { compileRules } from '../../../src/rules/compile/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { refund, request } from '../../support/decisions.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { startRedis } from '../../support/redis-server.ts';
import { load } from '../rules/parse/rule-text.ts';

const PER_DAY = 1_000_000;
const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: ${PER_DAY}}}
  - {key: few, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: named, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: ${PER_DAY}}}
`;

/** Every thread that this process has started. */
const workers: Worker[] = [];
process.on('worker', (worker: Worker) => workers.push(worker));

/** What the service puts together for decisions, with every batch left to the threads. */
class Pooled {
  readonly stats = new StatsRegistry();
  readonly logger = new KeepingLogger();
  readonly health = new Health();
  readonly statistics = new RuleStatistics();
  readonly batcher: Batcher;
  /** Decides in this thread. */
  readonly here: Batcher;
  readonly threads: ReturnType<typeof createDecisionThreads>['threads'];
  readonly store: ReturnType<typeof createStore>;

  constructor(env: Readonly<Record<string, string>>) {
    const { stats, logger, statistics } = this;
    const settings = loadSettings(env);
    const log = new OutageLog({ clock: systemClock, logger });
    const storeHealth = new StoreHealth(this.health, true, log);
    stats.addSource(statistics);
    const parts = {
      settings,
      logger,
      clock: systemClock,
      random: Math.random,
      stats,
    };
    this.store = createStore({
      ...parts,
      outages: storeHealth,
      connectionsChanged: connected => storeHealth.connectionsChanged(connected),
    });
    const counters = {
      storeError: stats.counter('storeError'),
      serviceError: stats.counter('serviceError'),
      cancelled: stats.counter('cancelled'),
      globalShadowMode: stats.counter('globalShadowMode'),
    };
    const overLimit = openOverLimitCache(settings, systemClock, this.store);
    const { threads, pool } = createDecisionThreads({
      ...parts,
      store: this.store,
      statistics,
      counters,
      overLimit: overLimit === null ? null : new OverLimitFigures(overLimit, stats),
      storeHealth,
      placement: { isForPool: () => true, decidedHere: () => {}, decidedInPool: () => {} },
    });
    this.threads = threads;
    const engine = new Engine({
      ...parts,
      options: engineOptions(settings),
      store: this.store.store,
      overLimit,
      counters,
      nowMs: null,
    });
    const batching = {
      engine,
      named: statistics,
      fingerprintKey: this.store.fingerprintKey,
      maxQueued: 100_000,
      window: null,
      serviceError: counters.serviceError,
    };
    this.batcher = new Batcher({ ...batching, pool });
    this.here = new Batcher({ ...batching, pool: null });
    this.publish();
  }

  publish(): void {
    const generation = new RuleGeneration(new CompiledRules(compileRules(load(RULES))));
    this.statistics.publish(generation);
    this.batcher.use(generation);
    this.here.use(generation);
  }

  /** What remains of the limit, or why there is no answer. */
  ask(descriptor: string): Promise<number | string> {
    return this.#askOf(this.batcher, request('d', descriptor));
  }

  /** Gives hits back in this thread; what remains then. */
  giveBack(hits: number, descriptor: string): Promise<number | string> {
    return this.#askOf(this.here, refund('d', hits, descriptor));
  }

  #askOf(batcher: Batcher, asked: RateLimitRequest): Promise<number | string> {
    return new Promise(resolve => {
      batcher.decide(encodeRateLimitRequest(asked), 'protobuf', {
        gone: false,
        answered: response => resolve(decodeRateLimitResponse(response).statuses[0].limitRemaining),
        refused: fault => resolve(fault.code),
      });
    });
  }

  /** Asks in bursts, each a batch or several, with a turn of the event loop between them. */
  async askBursts(bursts: number, size: number, descriptor: (i: number) => string) {
    const asked: Promise<number | string>[] = [];
    for (let burst = 0; burst < bursts; burst++) {
      for (let i = 0; i < size; i++) asked.push(this.ask(descriptor(burst * size + i)));
      await new Promise(resolve => setImmediate(resolve));
    }
    return Promise.all(asked);
  }

  counter(name: string): number {
    return new Map(this.stats.counters()).get(name) ?? 0;
  }

  rule(name: string): number {
    return this.counter(`ratelimit.service.rate_limit.${name}`);
  }

  gauge(name: string): number | undefined {
    return this.stats.gauges().get(name);
  }
}

async function pooled(t: Test, env: Readonly<Record<string, string>> = {}): Promise<Pooled> {
  const made = new Pooled({ WORKER_THREADS: '2', ...env });
  t.teardown(async () => {
    await made.threads.stop();
    await made.store.stop();
  });
  await made.store.start();
  await made.threads.start();
  await made.threads.whenReady(2);
  return made;
}

/** The answers to `count` hits on one key, whatever their order: what remained after each. */
function eachOnce(count: number): number[] {
  return Array.from({ length: count }, (_, i) => PER_DAY - count + i);
}

function sorted(answers: readonly (number | string)[]): number[] {
  return answers.map(Number).sort((a, b) => a - b);
}

t.test('several threads count the same keys exactly, and the statistics are their sum', async t => {
  const service = await pooled(t);
  const answers = await service.askBursts(60, 100, i => (i % 5 === 0 ? `named=${i % 3}` : 'a=hot'));
  const hot = answers.filter((_, i) => i % 5 !== 0);
  t.strictSame(sorted(hot), eachOnce(hot.length));
  t.equal(service.rule('d.a.total_hits'), hot.length);
  t.equal(service.rule('d.a.within_limit'), hot.length);
  t.same(
    [0, 1, 2].map(name => service.rule(`d.named_${name}.total_hits`)),
    [400, 400, 400],
    'names that requests make are added up by this thread',
  );
  t.ok(service.counter('ratelimit.service.worker_threads_requests') > 0);
});

t.test('the local caches of all threads forget a key at once that another thread refunds', async t => {
  const service = await pooled(t, { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' });
  for (let round = 1; round <= 20; round++) {
    await service.askBursts(4, 10, () => 'few=x');
    t.ok(service.rule('d.few.over_limit_with_local_cache') > 0, 'the caches know the key');
    t.equal(await service.giveBack(1_000, 'few=x'), 5);
    t.same(sorted(await service.askBursts(5, 1, () => 'few=x')), [0, 1, 2, 3, 4], `round ${round}`);
  }
});

t.test('rules are published under load without a pause, and no hit is lost on the way', async t => {
  const service = await pooled(t);
  const asked = service.askBursts(200, 40, () => 'a=x');
  for (let i = 0; i < 30; i++) {
    service.publish();
    for (const _pause of service.statistics.carryOver()) {
      await new Promise(resolve => setImmediate(resolve));
    }
  }
  const answers = await asked;
  t.strictSame(sorted(answers), eachOnce(8_000));
  t.equal(service.rule('d.a.total_hits'), 8_000);
  t.equal(service.rule('d.a.within_limit'), 8_000);
});

t.test('a thread that is killed is replaced; its batches are errors, and nothing hangs', async t => {
  const service = await pooled(t);
  const victim = workers.at(-1)!;
  const asked = service.askBursts(300, 50, () => 'a=x');
  await new Promise(resolve => setImmediate(resolve));
  await victim.terminate();
  const answers = await asked;
  const ok = answers.filter(answer => typeof answer === 'number');
  const failed = answers.filter(answer => typeof answer === 'string');
  t.ok(failed.every(answer => answer === 'internal'));
  t.equal(service.counter('serviceError'), failed.length);
  t.equal(new Set(ok).size, ok.length, 'no count was given twice');
  const counted = PER_DAY - Number(await service.ask('a=x')) - 1;
  t.ok(counted >= ok.length && counted <= answers.length, `${ok.length} OK, ${counted} counted`);
  await service.threads.whenReady(2);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 1);
  t.match(service.logger.messages('error').join(), /Decision thread exited unexpectedly/);
  t.equal((await service.askBursts(10, 20, () => 'a=y')).filter(Number).length, 200);
});

t.test('the local cache of each thread is told in one sum', async t => {
  const service = await pooled(t, { LOCAL_CACHE_SIZE_IN_BYTES: '2000000' });
  await service.askBursts(50, 20, () => 'few=x');
  const gauge = (name: string) => service.gauge(`ratelimit.localcache.${name}`) ?? 0;
  t.equal(gauge('lookupCount'), 1_000);
  t.ok(gauge('hitCount') > 0);
  t.equal(gauge('hitCount'), service.rule('d.few.over_limit_with_local_cache'));
  t.ok(gauge('entryCount') >= 1 && gauge('entryCount') <= 3, 'each thread that was asked knows the key');
});

t.test('threads count in Redis over connections of their own, which are told and closed', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const service = await pooled(t, { REDIS_URL: redis.address, REDIS_POOL_SIZE: '2' });
  const answers = await service.askBursts(40, 50, () => 'a=x');
  t.strictSame(sorted(answers), eachOnce(2_000));
  t.ok(service.health.healthy);
  const connections = service.gauge('ratelimit.redis_pool.cx_active') ?? 0;
  t.ok(connections >= 3, `this thread and two others have ${connections} connections`);
  await service.threads.stop();
  await service.store.stop();
  t.equal(
    service.counter('ratelimit.redis_pool.cx_local_close'),
    service.counter('ratelimit.redis_pool.cx_total'),
  );
});

t.test('without threads a batch is decided here, and stopping twice is harmless', async t => {
  const service = await pooled(t);
  await service.threads.stop();
  await service.threads.stop();
  t.equal(await service.ask('a=x'), PER_DAY - 1);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 0);
});
