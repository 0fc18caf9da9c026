import t from 'tap';
import { startRedis } from '../../../support/redis-server.ts';
import { startedThreads } from '../../../support/threads/started-threads.ts';
import { PER_DAY, startThreaded } from '../../../support/threads/threaded-decisions.ts';
import { until } from '../../../support/until.ts';

const workers = startedThreads(t);

/** The answers to `count` hits on one key, whatever their order: what remained after each. */
function eachOnce(count: number): number[] {
  return Array.from({ length: count }, (_, i) => PER_DAY - count + i);
}

function sorted(answers: readonly (number | string)[]): number[] {
  return answers.map(Number).sort((a, b) => a - b);
}

t.test('several threads count the same keys exactly, and the statistics are their sum', async t => {
  const service = await startThreaded(t);
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
  const service = await startThreaded(t, { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' });
  for (let round = 1; round <= 20; round++) {
    await service.askBursts(4, 10, () => 'few=x');
    t.ok(service.rule('d.few.over_limit_with_local_cache') > 0, 'the caches know the key');
    t.equal(await service.giveBack(1_000, 'few=x'), 5);
    t.same(sorted(await service.askBursts(5, 1, () => 'few=x')), [0, 1, 2, 3, 4], `round ${round}`);
  }
});

t.test('rules are published under load without a pause, and no hit is lost on the way', async t => {
  const service = await startThreaded(t);
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
  const service = await startThreaded(t);
  const victim = workers.at(-1)!;
  const asked = service.askBursts(300, 50, () => 'a=x');
  await new Promise(resolve => setImmediate(resolve));
  await victim.terminate();
  const answers = await asked;
  const ok = answers.filter(answer => typeof answer === 'number');
  const failed = answers.filter(answer => typeof answer === 'string');
  t.ok(failed.every(answer => answer === 'internal'));
  t.equal(service.counter('ratelimit.service.call.should_rate_limit.service_error'), failed.length);
  t.equal(new Set(ok).size, ok.length, 'no count was given twice');
  const counted = PER_DAY - Number(await service.ask('a=x')) - 1;
  t.ok(counted >= ok.length && counted <= answers.length, `${ok.length} OK, ${counted} counted`);
  await service.threads.whenReady(2);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 1);
  t.match(service.logger.messages('error').join(), /Decision thread ended/);
  t.equal((await service.askBursts(10, 20, () => 'a=y')).filter(Number).length, 200);
});

t.test('statistics of the local cache are summed over all threads', async t => {
  const service = await startThreaded(t, { LOCAL_CACHE_SIZE_IN_BYTES: '2000000' });
  await service.askBursts(50, 20, () => 'few=x');
  const gauge = (name: string) => service.gauge(`ratelimit.localcache.${name}`) ?? 0;
  t.equal(gauge('lookupCount'), 1_000);
  t.ok(gauge('hitCount') > 0);
  t.equal(gauge('hitCount'), service.rule('d.few.over_limit_with_local_cache'));
  t.ok(gauge('entryCount') >= 1 && gauge('entryCount') <= 3, 'each thread that was asked knows the key');
});

t.test('threads count in Redis over connections of their own, which are counted and closed', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const service = await startThreaded(t, {
    REDIS_URL: redis.address,
    REDIS_POOL_SIZE: '2',
    TRACING_ENABLED: 'true',
  });
  const answers = await service.askBursts(40, 50, () => 'a=x');
  t.strictSame(sorted(answers), eachOnce(2_000));
  t.ok(service.health.healthy);
  const connections = service.gauge('ratelimit.redis_pool.cx_active') ?? 0;
  t.ok(connections >= 3, `this thread and two others have ${connections} connections`);
  const traced = service.storeCalls.reduce((sum, { requests }) => sum + requests, 0);
  t.equal(
    traced,
    service.counter('ratelimit.service.worker_threads_requests'),
    'this thread traces their calls',
  );
  t.match(service.storeCalls[0].call, { keys: 1, keysPerSecond: 0, failure: null });
  const timed = (name: string) => service.stats.timers().get(`ratelimit.${name}`)?.count ?? 0;
  await until(() => timed('event_loop.decision.delay') > 0);
  await service.threads.stop();
  t.equal(timed('store.redis.ok.response_time'), timed('batch.requests'), 'one call for each batch');
  await service.store.stop();
  t.equal(
    service.counter('ratelimit.redis_pool.cx_local_close'),
    service.counter('ratelimit.redis_pool.cx_total'),
  );
});

t.test('without threads a batch is decided here, and stopping twice is harmless', async t => {
  const service = await startThreaded(t);
  await service.threads.stop();
  await service.threads.stop();
  t.equal(await service.ask('a=x'), PER_DAY - 1);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 0);
});
