import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { LeaseBook } from '../../../../src/counters/embedded/lease-book.ts';
import { admit, admitHoldingBack, atMs, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { count, NOON, type TestOp } from '../../../support/counting.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { embeddedStore } from '../../../support/stores.ts';
import type { AdmittingJob } from './admitting-thread.ts';

const WINDOW = slidingWindow(100, 10);
const BUCKET = tokenBucket(100, 10);

/** Number of live counters at a time, see `atMs`. */
function liveAt(table: CounterTable, ms: number): number {
  let live = 0;
  for (let region = 0; region < table.regionCount; region++)
    table.eachLive(region, atMs(ms).nowS, () => {
      live++;
    });
  return live;
}

t.test('threads on both sides of a border admit exactly the limit', async t => {
  const table = CounterTable.create(4_096);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = [9_999, 10_000, 10_001].map(ms => {
    const job: AdmittingJob = { buffer: table.buffer, rounds: 2_000, ms };
    return new Worker(new URL(`./admitting-thread.${extension}`, import.meta.url), { workerData: job });
  });
  const admitted = await Promise.all(
    threads.map(async thread => (await once(thread, 'message'))[0] as number[]),
  );
  for (const kind of [0, 1])
    t.equal(
      admitted.map(each => each[kind]).reduce((sum, one) => sum + one, 0),
      700,
    );
});

for (const [title, heldMs, total] of [
  ['up to a second changes nothing', 1_000, 10],
  ['longer than the window admits the limit once more at most', 2_000, 20],
] as const) {
  t.test(`a thread that is held between reading the clock and counting: ${title}`, async t => {
    const store = embeddedStore();
    const op = { key: 'w', hits: 1, terms: slidingWindow(10, 1) };
    const admittedAt = async (ms: number) => {
      const { refused } = await admit(store, new Array<TestOp>(30).fill(op), atMs(ms));
      return refused.filter(isRefused => !isRefused).length;
    };
    let admitted = await admittedAt(heldMs);
    admitted += await admittedAt(0);
    admitted += await admittedAt(heldMs);
    t.equal(admitted, total);
  });
}

t.test('a window and a bucket have a cell only while they are used', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const ops = (hits: number, isRefund = false): TestOp[] => [
    { key: 'w', hits, isRefund, terms: WINDOW },
    { key: 'b', hits, isRefund, terms: BUCKET },
  ];
  await admit(store, [...ops(0), ...ops(101), ...ops(5, true)]);
  t.equal(liveAt(table, 0), 0, 'nothing was admitted');
  await admit(store, ops(50));
  t.equal(liveAt(table, 0), 2);
  t.equal(liveAt(table, 4_999), 2);
  t.equal(liveAt(table, 6_000), 1, 'the bucket is full after five seconds');
  t.equal(liveAt(table, 20_000), 0, 'the window does not matter after two windows');
  await admit(store, ops(50, true));
  t.equal(liveAt(table, 0), 0, 'all was given back');
});

t.test('a key has one cell, also if its bucket has been full for a while', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const random = new SeededRandom(9);
  const names = Array.from({ length: 1_000 }, (_, i) => `k-${i}`);
  for (let ms = 0; ms < 60_000; ms += 3_000) {
    const used = names.filter(() => random.below(2) === 0);
    const ops = used.map(key => ({ key, hits: 10, terms: BUCKET }));
    const { afters } = await admit(store, ops, atMs(ms));
    t.ok(afters.every(after => after === 10 * BUCKET.scale));
    t.equal(liveAt(table, ms), used.length);
  }
});

t.test('plain counts alone use no extra memory', async t => {
  const table = CounterTable.create(65_536);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 8_000 }, (_, i) => ({ key: `k-${i}`, hits: 1 }));
  await count(store, ops);
  const cells = table.regionCount * 1_024;
  // The leases come after the extra numbers.
  const end = table.buffer.byteLength - LeaseBook.bytes(cells / 8);
  const extras = () => new Float64Array(table.buffer, end - cells * 8, cells);
  t.equal(table.hasExtras, false);
  t.ok(extras().every(extra => extra === 0));
  await admit(store, [{ key: 'w', hits: 1, terms: WINDOW }]);
  t.equal(table.hasExtras, true);
  t.equal(extras().filter(extra => extra !== 0).length, 1);
});

t.test('no level changes when the table spreads its counters', async t => {
  const store = embeddedStore(65_536);
  const random = new SeededRandom(8);
  const ops = Array.from({ length: 8_000 }, (_, i): TestOp => {
    const hits = 1 + random.below(90);
    if (i % 3 === 0) return { key: `k-${i}`, hits };
    return { key: `k-${i}`, hits, terms: i % 3 === 1 ? WINDOW : BUCKET };
  });
  for (let i = 0; i < ops.length; i += 400) await admitHoldingBack(store, [{ ops: ops.slice(i, i + 400) }]);
  const { afters } = await admit(
    store,
    ops.map(op => ({ ...op, hits: 0 })),
  );
  t.same(
    afters,
    ops.map(op => op.hits * (op.terms?.scale ?? 1)),
  );
});

t.test('a cell that was a window or a bucket before begins as an unused one', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const kinds = [undefined, WINDOW, BUCKET];
  // Ten times as many keys as the table holds, half of whose counters have expired.
  for (let round = 0; round < 20; round++) {
    const ops = Array.from({ length: 1_000 }, (_, i): TestOp => {
      const terms = kinds[(i + round) % 3];
      return { key: `${round}-${i}`, hits: 7, ...(terms === undefined ? null : { terms }) };
    });
    const { afters } = await admit(store, ops, { ...atMs(round * 30_000), ttlS: 30 });
    t.same(
      afters,
      ops.map(op => 7 * (op.terms?.scale ?? 1)),
    );
  }
  // A snapshot must not take the counts in such cells for windows or buckets.
  let plain = 0;
  for (let region = 0; region < table.regionCount; region++)
    table.eachLive(region, atMs(19 * 30_000).nowS, (_print, { extra }) => {
      if (extra === 0) plain++;
    });
  t.equal(plain, 334 + 333, 'the counts of the last two rounds');
});

const FLOOD_MS = 12_000;

/** Levels of 200 counters after a flood of other keys with a hit each, which has filled the table several times. */
async function flooded(before: Omit<TestOp, 'key'>, flood: Omit<TestOp, 'key'>) {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 200 }, (_, i) => ({ ...before, key: `before-${i}` }));
  const time = { ...NOON, nowMs: FLOOD_MS + NOON.nowS * 1_000, nowS: NOON.nowS + 12 };
  await admit(store, ops, time);
  for (let i = 0; i < 10; i++) {
    const keys = Array.from({ length: 2_000 }, (_, j) => ({ ...flood, key: `flood-${i}-${j}` }));
    await admit(store, keys, time);
  }
  const zeros = ops.map(op => ({ ...op, hits: 0 }));
  return { table, levels: (await admit(store, zeros, time)).afters };
}

const NEAR_LIMIT = { hits: 90 };
const SLOW_BUCKET = tokenBucket(100, 3_600);
const SLOW_WINDOW = slidingWindow(100, 3_600);
for (const [title, before, flood] of [
  ['of buckets spares plain counts', NEAR_LIMIT, { hits: 1, terms: SLOW_BUCKET }],
  ['of windows spares plain counts', NEAR_LIMIT, { hits: 1, terms: SLOW_WINDOW }],
  ['of plain counts spares buckets', { ...NEAR_LIMIT, terms: SLOW_BUCKET }, { hits: 1 }],
  ['of plain counts spares windows', { ...NEAR_LIMIT, terms: SLOW_WINDOW }, { hits: 1 }],
  [
    'of buckets spares buckets',
    { ...NEAR_LIMIT, terms: SLOW_BUCKET },
    { hits: 1, terms: tokenBucket(1, 60) },
  ],
] as const) {
  t.test(`a full table: a flood ${title} near their limits`, async t => {
    const { table, levels } = await flooded(before, flood);
    t.ok(table.evicted > 5_000, `${table.evicted} evictions`);
    const scale = 'terms' in before ? before.terms.scale : 1;
    t.ok(levels.every(level => level === 90 * scale));
  });
}

t.test('a window that was used before the border is spared in the next window', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 200 }, (_, i) => ({ key: `before-${i}`, hits: 90, terms: WINDOW }));
  await admit(store, ops, atMs(9_999));
  await admit(
    store,
    ops.map(op => ({ ...op, hits: 1 })),
    atMs(11_000),
  );
  const flood = Array.from({ length: 20_000 }, (_, i) => ({ key: `flood-${i}`, hits: 1 }));
  await admit(store, flood, atMs(11_000));
  const zeros = ops.map(op => ({ ...op, hits: 0 }));
  const { afters } = await admit(store, zeros, atMs(11_000));
  t.ok(afters.every(level => level === 81 + 1));
});

t.test('a full table keeps the limits of a request that holds back apart', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  for (let round = 0; round < 100; round++) {
    const ops = Array.from({ length: 40 }, (_, i): TestOp => {
      const terms = [undefined, SLOW_BUCKET, SLOW_WINDOW][i % 3];
      return { key: `user-${round}-${i}`, hits: 1, limit: 5, ...(terms === undefined ? null : { terms }) };
    });
    const { afters, held } = await admitHoldingBack(store, [{ ops }]);
    t.ok(
      ops.every((op, i) => afters[i] === (op.terms?.scale ?? 1)) && !held.includes(true),
      `round ${round}`,
    );
  }
  t.ok(table.evicted > 0);
});

t.test('a bucket without room in a full table is not counted', async t => {
  const store = embeddedStore();
  const ops = Array.from({ length: 4_096 }, (_, i) => ({ key: `k-${i}`, hits: 1, terms: SLOW_BUCKET }));
  const { afters, refused } = await admitHoldingBack(store, [{ ops }]);
  t.ok(afters.every(after => after === SLOW_BUCKET.scale || Number.isNaN(after)));
  t.ok(afters.some(after => Number.isNaN(after)));
  t.notOk(refused.includes(true));
});

t.test('a rule with other figures goes on with the state that it finds', async t => {
  const store = embeddedStore();
  const op = (requests: number, burst = requests) => ({ key: 'a', terms: tokenBucket(requests, 60, burst) });
  await admit(store, [{ ...op(59_999), hits: 30_001 }]);
  const slower = await admit(store, [{ ...op(60_000), hits: 0 }]);
  t.match(slower, { afters: [30_001], refused: [false] }, 'half a minute until the bucket is full');
  const smaller = await admit(store, [{ ...op(60_000, 10), hits: 1 }]);
  t.match(smaller, { afters: [10], refused: [true] }, 'as empty as it can be');
  t.match(await admit(store, [{ ...op(60_000, 10), hits: 1 }], atMs(1)), { afters: [10], refused: [false] });
  t.match(await admit(store, [{ ...op(0), hits: 1 }], atMs(1)), { afters: [0], refused: [true] });
});
