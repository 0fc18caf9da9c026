import t, { type Test } from 'tap';
import { systemClock } from '../../../../src/base/clock.ts';
import { CounterBatch } from '../../../../src/counters/batch.ts';
import type { FeedListener } from '../../../../src/counters/redis/connections/refund-feed.ts';
import { RedisCounterStore } from '../../../../src/counters/redis/redis-counter-store.ts';
import { SplitCounters } from '../../../../src/counters/redis/topology/split-counters.ts';
import { counterStoreExam } from '../../../exam/counter-store.ts';
import { aftersOf, fill, type TestGroup } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { IN_REDIS, redisCounters, TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const SECOND = 1;
const MINUTE = 2;

const main = await startRedis();
t.teardown(() => main.stop());
const perSecond = await startRedis();
t.teardown(() => perSecond.stop());

async function openStore(t: Test, listener: FeedListener | null = null) {
  await Promise.all([main.command('FLUSHALL'), perSecond.command('FLUSHALL')]);
  const logger = new KeepingLogger();
  const counters = new SplitCounters({
    main: redisCounters({ socketType: 'tcp', url: main.address, auth: '' }, { logger }),
    perSecond: redisCounters({ socketType: 'tcp', url: perSecond.address, auth: '' }, { logger }),
  });
  const store = new RedisCounterStore({
    counters,
    secondsApart: true,
    refunds: listener === null ? null : { listener, timeoutMs: 5_000 },
    outages: [],
    clock: systemClock,
    logger,
  });
  t.teardown(() => store.stop());
  await store.start();
  return { store, logger };
}

function batchOf(groups: readonly TestGroup[]): CounterBatch {
  const batch = new CounterBatch(TEST_FINGERPRINT_KEY);
  batch.secondsApart = true;
  fill(batch, groups);
  return batch;
}

/** Counts ops of one request, with the units of their limits; the count after each. */
async function counted(store: RedisCounterStore, ...ops: [string, number, number][]): Promise<number[]> {
  const batch = batchOf([{ ops: ops.map(([key, hits, unit]) => ({ key, hits, unit })) }]);
  await store.increment(batch);
  return aftersOf(batch);
}

t.test('the exam of counter stores', t => {
  counterStoreExam(t, async inner => (await openStore(inner)).store, IN_REDIS);
  t.end();
});

t.test('refunds in both instances reach the listener', async t => {
  const keys: string[] = [];
  let down = 0;
  const { store } = await openStore(t, {
    refunded: key => keys.push(Buffer.from(key).toString()),
    down: () => down++,
    up: () => down--,
  });
  await until(() => down === 0);
  const ops = (isRefund: boolean) => [
    { key: 'a second', hits: 3, unit: SECOND, isRefund },
    { key: 'a minute', hits: 3, unit: MINUTE, isRefund },
  ];
  await store.increment(batchOf([{ ops: ops(false) }]));
  await store.increment(batchOf([{ ops: ops(true) }]));
  await until(() => keys.length === 2);
  t.same(keys.toSorted(), ['a minute', 'a second']);
});

t.test('limits per second are counted in the second instance, all others in the first', async t => {
  const { store } = await openStore(t);
  t.same(await counted(store, ['a', 1, SECOND], ['b', 2, MINUTE], ['c', 3, SECOND]), [1, 2, 3]);
  t.same(await main.command('KEYS', '*'), ['b']);
  t.same(((await perSecond.command('KEYS', '*')) as string[]).sort(), ['a', 'c']);
});

t.test('a key of both is counted in each', async t => {
  const { store } = await openStore(t);
  const afters = await counted(store, ['same', 1, SECOND], ['same', 10, MINUTE], ['same', 2, SECOND]);
  t.same(afters, [1, 10, 3]);
});

t.test('a request that holds back does so over both', async t => {
  const { store } = await openStore(t);
  const request = {
    ops: [
      { key: 'second', hits: 2, limit: 3, unit: SECOND },
      { key: 'minute', hits: 2, limit: 9, unit: MINUTE },
    ],
  };
  const batch = batchOf([request, request, request]);
  await store.incrementHoldingBack(batch);
  t.same(aftersOf(batch), [2, 2, 4, 2, 6, 2]);
  t.same(Array.from(batch.opHeld.subarray(0, 6)), [0, 0, 0, 1, 0, 1]);
  t.equal(await main.command('GET', 'minute'), '2');
  t.equal(await perSecond.command('GET', 'second'), '6');
});

t.test('random requests over both give what deciding one after the other gives', async t => {
  const { store } = await openStore(t);
  const random = new SeededRandom(21);
  const counts = new Map<string, number>();
  for (let round = 0; round < 100; round++) {
    const groups = Array.from({ length: 1 + random.below(5) }, () => ({
      held: random.below(10) === 0,
      ops: Array.from({ length: random.below(4) }, () => {
        const key = random.below(20);
        return { key: `k${key}`, hits: random.below(4), limit: 10 + key * 3, unit: 1 + random.below(2) };
      }),
    }));
    const holdBack = round % 2 === 0;
    const expected = groups.flatMap(group => {
      const countOf = (op: { key: string; unit: number }) => counts.get(`${op.unit} ${op.key}`) ?? 0;
      const full = group.ops.map(op => !group.held && countOf(op) + op.hits > op.limit);
      const any = holdBack && (group.held || full.includes(true));
      return group.ops.map((op, i) => {
        const after = countOf(op) + (any && !full[i] ? 0 : op.hits);
        counts.set(`${op.unit} ${op.key}`, after);
        return after;
      });
    });
    const batch = batchOf(groups);
    await (holdBack ? store.incrementHoldingBack(batch) : store.increment(batch));
    t.strictSame(aftersOf(batch), expected, `round ${round}`);
  }
});

t.test('when one instance is away only the requests that need it fail', async t => {
  const { store, logger } = await openStore(t);
  await perSecond.kill();
  t.teardown(() => perSecond.restart());
  await until(() => logger.messages('error').includes('Redis is unavailable'));
  const both = [
    { ops: [{ key: 'minute', hits: 1, unit: MINUTE, limit: 9 }] },
    { ops: [{ key: 'second', hits: 1, unit: SECOND, limit: 9 }] },
  ];
  for (const holdBack of [false, true]) {
    const batch = batchOf(both);
    await (holdBack ? store.incrementHoldingBack(batch) : store.increment(batch));
    t.same(aftersOf(batch), [holdBack ? 2 : 1, Number.NaN]);
    t.match(batch.failureText, new RegExp(`Redis at ${perSecond.address} is not connected`));
  }
  await t.rejects(store.increment(batchOf([both[1]])), { code: 'store_failed' });
});
