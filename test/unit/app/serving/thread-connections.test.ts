import t, { type Test } from 'tap';
import { askOverGrpc } from '../../../support/asking.ts';
import { descriptor } from '../../../support/decisions.ts';
import { memcachedFor } from '../../../support/memcached-server.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { upTo } from '../../../support/serving-stores.ts';
import { type ServingService, startServing } from '../../../support/threads/serving-service.ts';
import { until } from '../../../support/until.ts';

const LIMIT = 1_000_000;
const ASK = { domain: 'd', descriptors: [descriptor('k=v')], hitsAddend: 0 };
/** So many that every thread has some, with near certainty. */
const CLIENTS = 24;

/** Asks with many connections, each several times; the counts that follow from the answers, in order. */
async function countOf(service: ServingService, each: number): Promise<number[]> {
  const clients = Array.from({ length: CLIENTS }, () => service.client());
  const counts: number[] = [];
  await Promise.all(
    clients.map(async client => {
      for (let i = 0; i < each; i++) {
        const { statuses } = await askOverGrpc(client, ASK);
        counts.push(LIMIT - statuses[0].limitRemaining);
      }
    }),
  );
  for (const client of clients) client.close();
  return counts.sort((a, b) => a - b);
}

async function threadsThatDecided(t: Test, service: ServingService): Promise<void> {
  const decided = await Promise.all(
    [0, 1, 2].map(place => service.statistic(`ratelimit.service.serving_thread.${place}.decisions`)),
  );
  t.ok(decided.filter(count => count > 0).length > 1, 'several threads decided', { decided });
}

t.test('three threads with two connections count exactly, also after two of them have died', async t => {
  const redis = await redisFor(t);
  const env = {
    KVCACHE_URL: redis.address,
    KVCACHE_POOL_SIZE: '2',
    KVCACHE_POOL_ON_EMPTY_BEHAVIOR: 'wait',
  };
  const service = await startServing(t, 3, env);
  t.same(await countOf(service, 10), upTo(CLIENTS * 10));
  await threadsThatDecided(t, service);
  t.equal(await redis.connections(), 2, 'one of the primary thread, one of the first serving thread');
  t.equal(await service.statistic('ratelimit.redis_pool.cx_active'), 2);
  for (const dying of [0, 1]) {
    await service.workers[dying].terminate();
    await service.serving(3);
  }
  t.same(await countOf(service, 10), upTo(CLIENTS * 20).slice(CLIENTS * 10));
  t.equal(await redis.connections(), 2, 'a replacement has the part of the thread that it replaces');
});

t.test('three threads count in memcached as one', async t => {
  const memcached = await memcachedFor(t);
  const env = {
    BACKEND_TYPE: 'memcache',
    MEMCACHE_HOST_PORT: memcached.address,
    MEMCACHE_MAX_IDLE_CONNS: '1',
  };
  const service = await startServing(t, 3, env);
  // The first hit of a window creates the count after its answer.
  await askOverGrpc(service.client(), ASK);
  await until(async () => (await service.statistic('ratelimit.memcache.add.__code=success')) === 1);
  t.same(await countOf(service, 10), upTo(CLIENTS * 10 + 1).slice(1));
  await threadsThatDecided(t, service);
});
