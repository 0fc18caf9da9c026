import type { Test } from 'tap';
import type { CounterStore } from '../../src/counters/store.ts';
import { admit, atMs, slidingWindow, tokenBucket } from '../support/admission.ts';
import { batchOf, count, type TestOp } from '../support/counting.ts';
import type { Exemptions } from './exemptions.ts';

/** How every counter store resets counters. `open` gives a started, empty store. */
export function resetExam(t: Test, open: (t: Test) => Promise<CounterStore>, exempt: Exemptions): void {
  t.test(
    'a reset removes the counts of its keys, tells what they were, and leaves the other keys',
    async t => {
      const store = await open(t);
      await count(store, [
        { key: 'a', hits: 5_000_000_000 },
        { key: 'b', hits: 3 },
        { key: 'c', hits: 4 },
      ]);
      t.same(
        await reset(store, [
          { key: 'a', hits: 1 },
          { key: 'none', hits: 1 },
          { key: 'c', hits: 9 },
        ]),
        [5_000_000_000, 0, 4],
      );
      const ops = ['a', 'b', 'c', 'none'].map(key => ({ key, hits: 0 }));
      t.same(await count(store, ops), [0, 3, 0, 0]);
      t.same(await reset(store, [{ key: 'a', hits: 1 }]), [0], 'it can be repeated');
      t.same(await count(store, [{ key: 'a', hits: 2 }]), [2], 'the key counts anew');
    },
  );

  t.test('a reset of nothing does nothing', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 1 }]);
    t.same(await reset(store, []), []);
    t.same(await count(store, [{ key: 'a', hits: 0 }]), [1]);
  });

  t.test(
    'a reset empties sliding windows and token buckets',
    { skip: exempt.admission ?? false },
    async t => {
      const store = await open(t);
      const window: TestOp = { key: 'w', hits: 8, terms: slidingWindow(10, 10) };
      const bucket: TestOp = { key: 'b', hits: 8, terms: tokenBucket(10, 10) };
      await admit(store, [window, bucket]);
      // In the next window, the hits of the one before still count.
      const later = atMs(10_500);
      const batch = batchOf([{ ops: [window, { ...bucket, key: 'b2' }] }], later);
      await store.read!(batch);
      t.ok(batch.counts[0] > 0, 'hits of the window before');
      const [before] = await reset(store, [window], later);
      t.equal(before, batch.counts[0]);
      t.match(await admit(store, [{ ...window, hits: 10 }], later), { afters: [10], refused: [false] });
      await admit(store, [{ ...bucket, hits: 10 }], later);
      t.same(await reset(store, [bucket], later), [10_000]);
      t.match(await admit(store, [{ ...bucket, hits: 10 }], later), { afters: [10_000], refused: [false] });
    },
  );
}

/** Resets the keys of these ops; what they counted before. */
async function reset(store: CounterStore, ops: readonly TestOp[], time = atMs(0)): Promise<number[]> {
  const batch = batchOf([{ ops }], time);
  await store.reset!(batch);
  return Array.from(batch.counts.subarray(0, batch.slotCount));
}
