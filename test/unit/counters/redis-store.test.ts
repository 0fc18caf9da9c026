import t from 'tap';
import { Fault } from '../../../src/base/fault.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { aftersOf, batchOf, count, countHoldingBack } from '../../support/counting.ts';
import { startRedis } from '../../support/redis-server.ts';
import { redisStore, type Teardown } from '../../support/stores.ts';

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

t.test(
  'a key that Redis cannot count gives no number, and the other keys of the batch are counted',
  async t => {
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
  },
);

t.test('every increment sets the time to live anew', async t => {
  const store = await openStore(t);
  const time = { nowS: 1_700_000_000, expiryS: 1_700_000_060 };
  await count(store, [{ key: 'lives', hits: 1 }], { ...time, ttlS: 60 });
  t.equal(await redis.command('TTL', 'lives'), 60);
  await count(store, [{ key: 'lives', hits: 1 }], { ...time, ttlS: 300 });
  t.equal(await redis.command('TTL', 'lives'), 300);
  const held = { held: true, ops: [{ key: 'lives', hits: 1 }] };
  await countHoldingBack(store, [held], { ...time, ttlS: 90 });
  t.equal(await redis.command('TTL', 'lives'), 90);
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
  await untilCounted(store, 'probe');
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

/** Waits for a condition, a turn of the event loop at a time; tap's time-out is the bound. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
}

/** Counts until the store answers again. */
async function untilCounted(store: CounterStore, key: string): Promise<number[]> {
  for (;;) {
    try {
      return await count(store, [{ key, hits: 1 }]);
    } catch {
      await new Promise(resolve => setImmediate(resolve));
    }
  }
}
