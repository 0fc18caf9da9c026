import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { aftersOf, batchOf, type CountingTime, count, countHoldingBack } from '../../../support/counting.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { redisStore, type Teardown } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

/** Units, as requests number them. */
const MINUTE = 2;
const HOUR = 3;

const redis = await startRedis();
t.teardown(() => redis.stop());

async function openStore(t: Teardown, url = redis.address, auth = ''): Promise<CounterStore> {
  const store = redisStore({ socketType: 'tcp', url, auth });
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

t.test('scripts are sent again when Redis has forgotten them', async t => {
  const store = await openStore(t);
  await count(store, [{ key: 'forgotten', hits: 1 }]);
  await redis.command('SCRIPT', 'FLUSH');
  t.same(await count(store, [{ key: 'forgotten', hits: 1 }]), [2]);
  await redis.command('SCRIPT', 'FLUSH');
  t.same((await countHoldingBack(store, [{ ops: [{ key: 'forgotten', hits: 1 }] }])).afters, [3]);
});

t.test('a key that Redis cannot count gives no number, and the other keys are counted', async t => {
  const store = await openStore(t);
  await redis.command('LPUSH', 'a-list', 'x');
  await redis.command('SET', 'a-text', 'many');
  const keys = ['before', 'a-list', 'a-text', 'after'];
  t.same(
    await count(
      store,
      keys.map(key => ({ key, hits: 2 })),
    ),
    [2, Number.NaN, Number.NaN, 2],
  );
  const { afters } = await countHoldingBack(store, [{ ops: keys.map(key => ({ key, hits: 1 })) }]);
  t.same(afters, [3, Number.NaN, Number.NaN, 3]);
  t.equal(await redis.command('GET', 'a-text'), 'many');
});

t.test('a key gets its time to live when it is new, and keeps it', async t => {
  const store = await openStore(t);
  // The second half of an hour: no counter of a shorter window can have this key.
  const time = { nowS: 1_700_002_000, expiryS: 1_700_002_800 };
  const hour = (key: string) => [{ key, hits: 1, unit: HOUR }];
  await count(store, hour('lives'), { ...time, ttlS: 3_600 });
  t.equal(await redis.command('TTL', 'lives'), 3_600);
  await count(store, hour('lives'), { ...time, ttlS: 3_900 });
  await countHoldingBack(store, [{ ops: hour('lives') }], { ...time, ttlS: 3_900 });
  t.equal(await redis.command('TTL', 'lives'), 3_600);
  await countHoldingBack(store, [{ held: true, ops: hour('held') }], { ...time, ttlS: 3_700 });
  t.equal(await redis.command('TTL', 'held'), 3_700, 'also when nothing is added to it');
});

t.test('of two windows that share a key the longer decides how long it lives, whoever is first', async t => {
  const store = await openStore(t);
  const startS = 1_699_999_200;
  const inMinute = { nowS: startS + 5, ttlS: 60, expiryS: startS + 60 };
  const inHour = { nowS: startS + 10, ttlS: 3_600, expiryS: startS + 3_600 };
  const counts = {
    increment: (key: string, unit: number, time: CountingTime) =>
      count(store, [{ key, hits: 1, unit }], time),
    'holding back': (key: string, unit: number, time: CountingTime) =>
      countHoldingBack(store, [{ ops: [{ key, hits: 1, unit }] }], time),
  };
  for (const [key, counting] of Object.entries(counts)) {
    await counting(key, MINUTE, inMinute);
    t.equal(await redis.command('TTL', key), 60, key);
    await counting(key, HOUR, inHour);
    t.equal(await redis.command('TTL', key), 3_600, key);
    await counting(key, MINUTE, inMinute);
    t.equal(await redis.command('TTL', key), 3_600, key);
  }
});

t.test('Redis killed under load: what is answered was counted, once', async t => {
  const failing = await startRedis();
  t.teardown(() => failing.stop());
  const store = redisStore({ socketType: 'tcp', url: failing.address, auth: '' });
  t.teardown(() => store.stop());
  await store.start();
  const generations: number[][] = [[], []];
  let errors = 0;
  const load = async (generation: number, rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const batch = batchOf([
        {
          ops: [
            { key: 'hot', hits: 1 },
            { key: 'hot', hits: 1 },
          ],
        },
      ]);
      try {
        await store.increment(batch);
        generations[generation].push(...aftersOf(batch));
      } catch (failure) {
        t.ok(failure instanceof Fault && failure.code === 'store_failed');
        errors++;
      }
    }
  };
  const running = Promise.all(Array.from({ length: 8 }, () => load(0, 400)));
  await until(() => generations[0].length > 500);
  await failing.kill();
  await running;
  await failing.restart();
  await untilCounted(store, [{ key: 'probe', hits: 1 }]);
  await Promise.all(Array.from({ length: 8 }, () => load(1, 50)));
  t.ok(errors > 0, 'the kill was felt');
  for (const [generation, seen] of generations.entries()) {
    t.equal(new Set(seen).size, seen.length, `no count was given twice by Redis ${generation}`);
  }
  t.same(
    generations[1].sort((a, b) => a - b),
    Array.from({ length: 800 }, (_, i) => i + 1),
  );
});
