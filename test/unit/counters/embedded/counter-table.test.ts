import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { count, countHoldingBack, NOON } from '../../../support/counting.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { embeddedStore } from '../../../support/stores.ts';
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
  const store = new EmbeddedCounterStore(CounterTable.attach(table.buffer));
  for (let key = 0; key < job.keys; key++) {
    t.same(await count(store, [{ key: `k${key}`, hits: 0 }]), [3 * job.rounds]);
  }
});

t.test('a refund makes no counter and keeps none longer', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const live = (): number[] => {
    const ends: number[] = [];
    for (let region = 0; region < table.regionCount; region++)
      table.eachLive(region, NOON.nowS, (_print, { expiryS }) => ends.push(expiryS));
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
  const store = embeddedStore();
  await count(store, [{ key: 'a', hits: 5 }]);
  const lastSecond = { ...NOON, nowS: NOON.expiryS - 1 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], lastSecond), [6]);
  const after = { ...NOON, nowS: NOON.expiryS, expiryS: NOON.expiryS + 60 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], after), [1]);
});

t.test('two windows of different lengths that share a key keep it for the longer one', async t => {
  const store = embeddedStore();
  await count(store, [{ key: 'a', hits: 1 }], { ...NOON, expiryS: NOON.nowS + 86_400 });
  await count(store, [{ key: 'a', hits: 1 }], { ...NOON, expiryS: NOON.nowS + 3_600 });
  const later = { ...NOON, nowS: NOON.nowS + 7_200, expiryS: NOON.nowS + 86_400 };
  t.same(await count(store, [{ key: 'a', hits: 1 }], later), [3]);
});

t.test('as many live counters as it is made for fit without one giving way', async t => {
  const table = CounterTable.create(20_000);
  const store = new EmbeddedCounterStore(table);
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

/** A table that a flood of keys with a hit each has filled several times over, and what it held before. */
async function flooded(
  before: { hits: number; windowS: number },
  flood: { windowS: number },
): Promise<{ table: CounterTable; counts: readonly number[] }> {
  const table = CounterTable.create(1_024);
  const bytes = table.buffer.byteLength;
  const store = new EmbeddedCounterStore(table);
  const window = { ...NOON, expiryS: NOON.nowS + before.windowS };
  const ops = Array.from({ length: 200 }, (_, i) => ({ key: `before-${i}`, hits: before.hits }));
  await count(store, ops, window);
  for (let i = 0; i < 10; i++) {
    await count(
      store,
      Array.from({ length: 2_000 }, (_, j) => ({ key: `flood-${i}-${j}`, hits: 1 })),
      { ...NOON, expiryS: NOON.nowS + flood.windowS },
    );
  }
  if (table.buffer.byteLength !== bytes) throw new Error('the table has grown');
  const zeros = ops.map(op => ({ ...op, hits: 0 }));
  return { table, counts: await count(store, zeros, window) };
}

for (const [title, before, flood] of [
  ['of the same window', { hits: 2, windowS: 60 }, { windowS: 60 }],
  ['of a longer window', { hits: 2, windowS: 60 }, { windowS: 86_400 }],
  ['of a shorter window', { hits: 2, windowS: 86_400 }, { windowS: 60 }],
  ['of a longer window, whatever their hits', { hits: 1, windowS: 60 }, { windowS: 86_400 }],
  ['of a shorter window, whatever their hits', { hits: 1, windowS: 86_400 }, { windowS: 60 }],
] as const) {
  t.test(`a full table evicts the keys of a flood itself and spares counters ${title}`, async t => {
    const { table, counts } = await flooded(before, flood);
    t.ok(table.evicted > 15_000, 'evictions are counted');
    t.same(
      counts,
      counts.map(() => before.hits),
    );
  });
}

t.test('memory is used as counters come, and no count changes when the table spreads them', async t => {
  const table = CounterTable.create(65_536);
  const store = new EmbeddedCounterStore(table);
  const random = new SeededRandom(7);
  const counts = new Map<string, number>();
  for (let round = 0; round < 40; round++) {
    const ops = Array.from({ length: 100 }, () => ({
      key: `key-${random.below(4_000)}`,
      hits: random.below(5),
    }));
    const expected = ops.map(({ key, hits }) => {
      const after = (counts.get(key) ?? 0) + hits;
      counts.set(key, after);
      return after;
    });
    t.same(await count(store, ops), expected, `round ${round}`);
  }
  const PAGE = 4_096;
  const pages = Array.from(
    { length: Math.floor(table.buffer.byteLength / PAGE) },
    (_, page) => new Uint8Array(table.buffer, page * PAGE, PAGE),
  );
  const used = pages.filter(page => page.some(byte => byte !== 0)).length;
  t.ok(used < pages.length / 8, `${used} of ${pages.length} pages are used`);
});

t.test('the counters of a request that holds back are found where the table has moved them', async t => {
  const store = embeddedStore(65_536);
  const ops = Array.from({ length: 8_000 }, (_, i) => ({ key: `user-${i}`, hits: 1 + (i % 7) }));
  await countHoldingBack(store, [{ ops }]);
  const zeros = ops.map(op => ({ ...op, hits: 0 }));
  t.same(
    await count(store, zeros),
    ops.map(op => op.hits),
  );
});

t.test('expired counters make room without one giving way', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
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
  const store = new EmbeddedCounterStore(CounterTable.attach(table.buffer));
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
});

t.test('a request that holds back keeps its counters apart, also when the table is full', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  for (let round = 0; round < 200; round++) {
    const ops = Array.from({ length: 40 }, (_, i) => ({ key: `user-${round}-${i}`, hits: 1, limit: 5 }));
    const { afters, held } = await countHoldingBack(store, [{ ops }]);
    t.ok(afters.every(after => after === 1) && !held.includes(true), `round ${round}`);
  }
  t.ok(table.evicted > 0);
});

t.test('counters of a request for which the table has no room are not counted', async t => {
  const store = embeddedStore();
  const ops = Array.from({ length: 4_096 }, (_, i) => ({ key: `k-${i}`, hits: 1, limit: 5 }));
  const { afters } = await countHoldingBack(store, [{ ops }]);
  t.ok(
    afters.every(after => after === 1 || Number.isNaN(after)),
    'no two of them share a count',
  );
  t.ok(afters.some(after => Number.isNaN(after)));
});
