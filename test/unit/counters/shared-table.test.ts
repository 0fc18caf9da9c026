import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { SharedCounterStore } from '../../../src/counters/shared/shared-store.ts';
import { CounterTable } from '../../../src/counters/shared/table.ts';
import { count, countHoldingBack, NOON } from '../../support/counting.ts';
import type { CountingJob } from './counting-thread.ts';

t.test('threads that count the same keys at the same time lose no hit', async t => {
  const table = CounterTable.create(4_096);
  const job: CountingJob = { buffer: table.buffer, rounds: 2_000, keys: 7 };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = Array.from(
    { length: 3 },
    () => new Worker(new URL(`./counting-thread.${extension}`, import.meta.url), { workerData: job }),
  );
  const results = await Promise.all(
    threads.map(async thread => (await once(thread, 'message'))[0] as number[]),
  );
  t.same(
    results.flat().sort((a, b) => a - b),
    Array.from({ length: 3 * job.rounds }, (_, i) => i + 1),
    'the counts that the threads saw of one key are 1, 2, 3, … without a gap or a double',
  );
  const store = new SharedCounterStore(CounterTable.attach(table.buffer));
  for (let key = 0; key < job.keys; key++) {
    t.same(await count(store, [{ key: `k${key}`, hits: 0 }]), [3 * job.rounds]);
  }
});

t.test('a refund makes no counter and keeps none longer', async t => {
  const table = CounterTable.create(1_024);
  const store = new SharedCounterStore(table);
  const live = (): number[] => {
    const ends: number[] = [];
    for (let region = 0; region < table.regionCount; region++)
      table.eachLive(region, NOON.nowS, (_print, expiryS) => ends.push(expiryS));
    return ends;
  };
  const ops = [{ key: 'a', hits: 1, isRefund: true }];
  await count(store, ops);
  await countHoldingBack(store, [{ ops }, { ops, held: true }]);
  t.same(live(), []);
  await count(store, [{ key: 'a', hits: 5 }]);
  const later = { ...NOON, ttlS: 120, expiryS: NOON.expiryS + 60 };
  await count(store, ops, later);
  await countHoldingBack(store, [{ ops }], later);
  t.same(live(), [NOON.expiryS]);
});

t.test('a counter begins again at 0 once its window is over', async t => {
  const store = new SharedCounterStore(CounterTable.create(1_024));
  await count(store, [{ key: 'a', hits: 5 }]);
  const lastSecond = { ...NOON, nowS: NOON.expiryS - 1 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], lastSecond), [6]);
  const after = { ...NOON, nowS: NOON.expiryS, expiryS: NOON.expiryS + 60 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], after), [1]);
});

t.test('two windows of different lengths that share a key keep it for the longer one', async t => {
  const store = new SharedCounterStore(CounterTable.create(1_024));
  await count(store, [{ key: 'a', hits: 1 }], { ...NOON, expiryS: NOON.nowS + 86_400 });
  await count(store, [{ key: 'a', hits: 1 }], { ...NOON, expiryS: NOON.nowS + 3_600 });
  const later = { ...NOON, nowS: NOON.nowS + 7_200, expiryS: NOON.nowS + 86_400 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], later), [3]);
});

t.test('as many live counters as it is made for fit without one giving way', async t => {
  const table = CounterTable.create(20_000);
  const store = new SharedCounterStore(table);
  const ops = Array.from({ length: 20_000 }, (_, i) => ({ key: `key-${i}`, hits: i }));
  await count(store, ops);
  t.equal(table.evicted, 0);
  t.same(
    await count(
      store,
      ops.map(op => ({ ...op, hits: 0 })),
    ),
    ops.map(op => op.hits),
  );
});

t.test(
  'with far more counters than fit, memory stays as it is and the soonest to expire give way',
  async t => {
    const table = CounterTable.create(1_024);
    const bytes = table.buffer.byteLength;
    const store = new SharedCounterStore(table);
    const long = { ...NOON, expiryS: NOON.nowS + 86_400 };
    const kept = Array.from({ length: 200 }, (_, i) => ({ key: `day-${i}`, hits: 3 }));
    await count(store, kept, long);
    for (let i = 0; i < 10; i++) {
      await count(
        store,
        Array.from({ length: 2_000 }, (_, j) => ({ key: `minute-${i}-${j}`, hits: 1 })),
      );
    }
    t.ok(table.evicted > 0, 'that counters gave way is counted');
    t.equal(table.buffer.byteLength, bytes);
    t.same(
      await count(
        store,
        kept.map(op => ({ ...op, hits: 0 })),
        long,
      ),
      kept.map(() => 3),
    );
  },
);

t.test('expired counters make room without one giving way', async t => {
  const table = CounterTable.create(1_024);
  const store = new SharedCounterStore(table);
  for (let window = 0; window < 20; window++) {
    const nowS = NOON.nowS + window * 60;
    const ops = Array.from({ length: 1_000 }, (_, i) => ({ key: `k-${i}-${window}`, hits: 1 }));
    await count(store, ops, { nowS, ttlS: 60, expiryS: nowS + 60 });
  }
  t.equal(table.evicted, 0);
});

t.test('the lock of a thread that ended while it held it is taken over', async t => {
  const table = CounterTable.create(1_024);
  for (let region = 0; region < 2; region++) table.lock(region);
  const store = new SharedCounterStore(CounterTable.attach(table.buffer));
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
});

t.test('a request that holds back keeps its counters apart, also when the table is full', async t => {
  const table = CounterTable.create(1_024);
  const store = new SharedCounterStore(table);
  for (let round = 0; round < 200; round++) {
    const ops = Array.from({ length: 40 }, (_, i) => ({ key: `user-${round}-${i}`, hits: 1, limit: 5 }));
    const { afters, held } = await countHoldingBack(store, [{ ops }]);
    t.ok(afters.every(after => after === 1) && !held.includes(true), `round ${round}`);
  }
  t.ok(table.evicted > 0);
});

t.test(
  'of a request with more counters than the table holds, those without room are not counted',
  async t => {
    const store = new SharedCounterStore(CounterTable.create(1_024));
    const ops = Array.from({ length: 4_096 }, (_, i) => ({ key: `k-${i}`, hits: 1, limit: 5 }));
    const { afters } = await countHoldingBack(store, [{ ops }]);
    t.ok(
      afters.every(after => after === 1 || Number.isNaN(after)),
      'no two of them share a count',
    );
    t.ok(afters.some(after => Number.isNaN(after)));
  },
);
