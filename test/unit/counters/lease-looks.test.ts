import t from 'tap';
import { REFUSED } from '../../../src/counters/admission/admission.ts';
import { STEP } from '../../../src/counters/leases/lease.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { TimedStore } from '../../../src/counters/timed-store.ts';
import { batchOf, countHoldingBack, NOON } from '../../support/counting.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { callsFor, concurrent, reserving } from '../../support/leases.ts';
import { embeddedStore } from '../../support/stores.ts';

const tokens = callsFor('tokens', reserving(100));
const slots = callsFor('slots', concurrent(2));

/** A store with two leases of `tokens`, one of `slots`, and a plain count. */
async function filled(store: CounterStore): Promise<CounterStore> {
  const ops = [tokens('a').op(30), tokens('b').op(20), slots('a').op(1), { key: 'plain', hits: 1, limit: 9 }];
  await countHoldingBack(store, [{ ops }]);
  return store;
}

const later = { ...NOON, nowMs: NOON.nowS * 1_000 + 1_000 };

t.test('a store lists the leases of the slots of a batch that have any', async t => {
  for (const store of [embeddedStore(), new TimedStore(embeddedStore())]) {
    await filled(store);
    const ops = [tokens('x').op(1), { key: 'plain', hits: 1, limit: 9 }, slots('x').op(1)];
    t.match(await store.leases!(batchOf([{ ops }], later), 1), [
      { count: 2, listed: [{ holder: 'a', hits: 30, endsMs: 599_000 }] },
      null,
      { count: 1, listed: [{ holder: 'a', hits: 1 }] },
    ]);
  }
});

t.test('a preview says what calls would do, and does nothing', async t => {
  for (const store of [embeddedStore(), new TimedStore(embeddedStore())]) {
    await filled(store);
    for (let time = 1; time <= 2; time++) {
      const batch = batchOf([{ ops: [tokens('a').op(90), slots('b').op(2), tokens('c').op(51)] }], later);
      await store.preview!(batch);
      t.same([...batch.leases.steps.subarray(0, 3)], [STEP.settle, STEP.take, STEP.take]);
      t.same([...batch.opAfters.subarray(0, 3)], [110, 1, 110]);
      t.same([...batch.opRefused.subarray(0, 3)], [REFUSED.no, REFUSED.full, REFUSED.full]);
    }
  }
});

t.test('a store in front of one that can do neither does not seem to be able to', async t => {
  const { leases, preview } = new TimedStore(new FailingStore(embeddedStore()));
  t.same([leases, preview], [undefined, undefined]);
});
