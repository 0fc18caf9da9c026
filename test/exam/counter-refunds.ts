import type { Test } from 'tap';
import type { CounterStore } from '../../src/counters/store.ts';
import { count, countHoldingBack, type TestOp } from '../support/counting.ts';

/** How every counter store takes refunds. `open` gives a started, empty store. */
export function refundExam(t: Test, open: (t: Test) => Promise<CounterStore>): void {
  const refund = (key: string, hits: number): TestOp => ({ key, hits, isRefund: true });

  t.test('a refund takes hits off the count', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 6 }]);
    t.same(await count(store, [refund('a', 4)]), [2]);
    t.same(await count(store, [{ key: 'a', hits: 0 }]), [2]);
  });

  t.test('a count never falls below 0', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 5 }]);
    t.same(await count(store, [refund('a', 3)]), [2]);
    t.same(await count(store, [refund('a', 3)]), [0]);
    t.same(await count(store, [{ key: 'a', hits: 1 }]), [1], 'what was refunded in excess is not owed');
  });

  t.test('the order of hits and refunds in a batch holds', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 2 }]);
    const ops = [
      refund('a', 5),
      { key: 'a', hits: 4 },
      refund('a', 1),
      { key: 'b', hits: 1 },
      refund('a', 9),
    ];
    t.same(await count(store, ops), [0, 4, 3, 1, 0]);
    t.same(await count(store, [{ key: 'a', hits: 3 }, refund('a', 1), refund('b', 0)]), [3, 2, 1]);
    t.same(await count(store, [refund('a', 0)]), [2], 'the store agrees');
  });

  t.test(
    'a refund of a key that is not there finds 0 and leaves nothing to the hits that follow',
    async t => {
      const store = await open(t);
      t.same(await count(store, [refund('a', 3)]), [0]);
      t.same(await count(store, [refund('a', 3), { key: 'a', hits: 2 }]), [0, 2]);
      t.same(await count(store, [refund('a', 0)]), [2]);
    },
  );

  t.test('refunds beyond 32 bits are exact', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 8_589_934_590 }]);
    t.same(await count(store, [refund('a', 4_294_967_297)]), [4_294_967_293]);
  });

  t.test('refunds are not held back, and a request has those of its own before its hits', async t => {
    const store = await open(t);
    await count(store, [
      { key: 'a', hits: 3 },
      { key: 'b', hits: 5 },
    ]);
    const groups = [
      { ops: [{ key: 'a', hits: 1, limit: 3 }, refund('b', 2), { key: 'c', hits: 1 }] },
      { ops: [{ key: 'a', hits: 1, limit: 3 }, refund('a', 2), { key: 'c', hits: 1 }] },
      { held: true, ops: [refund('a', 1), { key: 'c', hits: 1 }, refund('none', 1)] },
    ];
    t.same(await countHoldingBack(store, groups), {
      afters: [4, 3, 0, 3, 2, 1, 2, 1, 0],
      held: [false, false, true, false, false, false, false, true, false],
    });
    t.same(await count(store, [refund('a', 0), refund('b', 0), refund('c', 0)]), [2, 3, 1]);
  });
}
