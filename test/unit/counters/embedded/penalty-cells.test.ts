import { join } from 'node:path';
import t from 'tap';
import { REFUSED } from '../../../../src/counters/admission/admission.ts';
import { MOST_COUNTED, Penalty } from '../../../../src/counters/admission/penalty.ts';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { penaltyPrint, readPenalty, writePenalty } from '../../../../src/counters/embedded/penalty-cells.ts';
import { loadSnapshot, saveSnapshot } from '../../../../src/counters/embedded/snapshot.ts';
import { atMs, fixedWindow, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { batchOf, count, NOON, type TestOp } from '../../../support/counting.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

/** An hour for the first violation. */
const PENALTY = { after: 1, forS: 3_600, factor: 1, maxS: 3_600, windowS: 10 };
const FIXED = fixedWindow(1, 10, PENALTY);
const HEADER = { writtenMs: NOON.nowS * 1_000, fingerprintKey: TEST_FINGERPRINT_KEY };

const violating = (key: string, terms = FIXED): TestOp => ({ key, hits: 2, terms });

/** How many of these keys are penalized, some milliseconds after noon. */
async function penalized(store: EmbeddedCounterStore, ops: readonly TestOp[], ms: number): Promise<number> {
  const batch = batchOf([{ ops: ops.map(op => ({ ...op, hits: 0 })) }], atMs(ms));
  await store.increment(batch);
  return batch.opRefused.subarray(0, ops.length).filter(refused => refused === REFUSED.penalized).length;
}

t.test('the greatest numbers are kept exactly', async t => {
  const table = CounterTable.create(1_024);
  const print = penaltyPrint({ a: 1, b: 2, c: 3 });
  const written = new Penalty();
  const read = new Penalty();
  for (const [violations, penalties, closesS, untilS] of [
    [0, 0, 0, 0],
    [MOST_COUNTED - 1, MOST_COUNTED, 0xffff_fffe, 0xffff_ffff],
    [1, MOST_COUNTED, 1_700_000_001, 1],
    [MOST_COUNTED - 1, 0, 1, 0xffff_ffff],
  ]) {
    written.set(violations, penalties, closesS, untilS);
    writePenalty(table, { print, nowS: 0, kept: [] }, written, PENALTY);
    readPenalty(table, table.find(print, 0), read);
    t.same(read, written);
    t.equal(read.violations, violations);
  }
});

t.test('penalties are part of a snapshot, with counters of all kinds', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const kinds = [
    FIXED,
    { ...slidingWindow(1, 10), penalty: PENALTY },
    { ...tokenBucket(1, 10), penalty: PENALTY },
  ];
  const ops = kinds.map((terms, i) => violating(`k${i}`, terms));
  await store.increment(batchOf([{ ops }], atMs(0)));
  const path = join(tempDirectory(t), 'counters');
  await saveSnapshot(path, table, HEADER);
  const larger = CounterTable.create(16_384);
  await loadSnapshot(path, larger, { nowMs: NOON.nowS * 1_000, fingerprintKey: TEST_FINGERPRINT_KEY });
  t.equal(await penalized(new EmbeddedCounterStore(larger), ops, 3_599_999), 3);
  t.equal(await penalized(new EmbeddedCounterStore(larger), ops, 3_600_000), 0);
});

t.test('a penalty that is newer than the snapshot is kept', async t => {
  const [saved, table] = [CounterTable.create(1_024), CounterTable.create(1_024)];
  const op = violating('k');
  await new EmbeddedCounterStore(saved).increment(batchOf([{ ops: [op] }], atMs(0)));
  const path = join(tempDirectory(t), 'counters');
  await saveSnapshot(path, saved, HEADER);
  const store = new EmbeddedCounterStore(table);
  await store.increment(batchOf([{ ops: [op] }], atMs(60_000)));
  await loadSnapshot(path, table, {
    nowMs: NOON.nowS * 1_000 + 60_000,
    fingerprintKey: TEST_FINGERPRINT_KEY,
  });
  t.equal(await penalized(store, [op], 3_659_999), 1);
});

t.test('no penalty is lost while the table grows', async t => {
  const table = CounterTable.create(16_384);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 6_000 }, (_, i) => violating(`k${i}`));
  // Each key has a count, which its window then forgets, and a penalty.
  for (const op of ops) await count(store, [{ ...op, hits: 1 }, op], atMs(0));
  t.equal(table.evicted, 0);
  t.equal(await penalized(store, ops, 60_000), ops.length);
});

t.test('a flood of keys does not evict penalties, also if they hold back each other', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 100 }, (_, i) => violating(`k${i}`));
  for (const [i, op] of ops.entries()) {
    const batch = batchOf([{ ops: [op, { key: `other${i}`, hits: 1 }] }], atMs(0));
    await store.incrementHoldingBack(batch);
  }
  const flood = Array.from({ length: 20_000 }, (_, i) => ({ key: `flood${i}`, hits: 1_000_000 }));
  await count(store, flood, { ...NOON, expiryS: NOON.nowS + 86_400 });
  t.ok(table.evicted > 10_000);
  t.equal(await penalized(store, ops, 60_000), ops.length);
});

t.test('a flood of penalized keys leaves room for the counters of others', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const others = Array.from({ length: 100 }, (_, i) => ({ key: `other${i}`, hits: 5 }));
  await count(store, others, { ...NOON, expiryS: NOON.nowS + 86_400 });
  // The first request of a key fits, so each key has a counter and a penalty.
  for (let i = 0; i < 5_000; i++) {
    const op = violating(`flood${i}`);
    await count(store, [{ ...op, hits: 1 }, op], atMs(0));
  }
  t.ok(table.evicted > 1_000);
  const counts = await count(store, others, { ...NOON, expiryS: NOON.nowS + 86_400 });
  t.same(
    counts.filter(each => each !== 10),
    [],
    'no counter was evicted',
  );
  const flood = Array.from({ length: 5_000 }, (_, i) => violating(`flood${i}`));
  t.ok((await penalized(store, flood, 60_000)) > 500, 'and penalties have the rest');
});

t.test('counters with more hits than any other are no penalties', async t => {
  const table = CounterTable.create(1_024);
  const store = new EmbeddedCounterStore(table);
  const ops = Array.from({ length: 100 }, (_, i) => violating(`k${i}`));
  for (const op of ops) await count(store, [op], atMs(0));
  const flood = Array.from({ length: 20_000 }, (_, i) => ({ key: `flood${i}`, hits: 2 ** 53 - 1 }));
  await count(store, flood, { ...NOON, expiryS: NOON.nowS + 86_400 });
  t.ok(table.evicted > 10_000);
  t.equal(await penalized(store, ops, 60_000), ops.length, 'they are evicted first');
});
