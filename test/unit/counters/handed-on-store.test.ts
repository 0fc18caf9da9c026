import t from 'tap';
import { Fault } from '../../../src/base/fault.ts';
import { type CounterBatch, callsOf } from '../../../src/counters/batch.ts';
import { ACTION, STEP } from '../../../src/counters/leases/lease.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { atMs, slidingWindow, tokenBucket } from '../../support/admission.ts';
import { aftersOf, batchOf, count, countHoldingBack, fill, type TestOp } from '../../support/counting.ts';
import { handedOn } from '../../support/handed-on.ts';
import { reserving } from '../../support/leases.ts';
import { startMemcached } from '../../support/memcached-server.ts';
import { memcachedStore, settledStore } from '../../support/memcached-stores.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';
import { MEMCACHED_EXEMPT } from './memcached/exempt.ts';

// One store that counts at once, and two that are waited for, with and without admission.
const {
  kinds: [overTcp],
} = await redisStoreKinds(t);
for (const kind of [sharedStoreKind, overTcp]) {
  t.test(`the exam of counter stores, handed on to ${kind.name}`, t => {
    counterStoreExam(t, async inner => handedOn(inner, await kind.open(inner)).store, kind.exempt);
    t.end();
  });
}

const memcached = await startMemcached();
t.teardown(() => memcached.stop());
t.test('the exam of counter stores, handed on to memcached', t => {
  const open = async (inner: typeof t): Promise<CounterStore> => {
    await memcached.command('flush_all');
    const store = memcachedStore(memcached.address);
    inner.teardown(() => store.stop());
    await store.start();
    return handedOn(inner, settledStore(store)).store;
  };
  counterStoreExam(t, open, MEMCACHED_EXEMPT);
  t.end();
});

/** A store that does with each batch what the test says. */
function storeOf(run: (batch: CounterBatch) => void | Promise<void>): CounterStore {
  return {
    name: 'test',
    secondsApart: true,
    increment: run,
    incrementHoldingBack: run,
    start: async () => {},
    stop: async () => {},
  };
}

const ONE = [{ key: 'a', hits: 1 }];

t.test('the store receives everything that the batch says', async t => {
  const seen: unknown[] = [];
  const { store } = handedOn(
    t,
    storeOf(batch => {
      seen.push({
        nowS: batch.nowS,
        secondsApart: batch.secondsApart,
        calls: callsOf(batch),
        keys: Array.from({ length: batch.slotCount }, (_, slot) => batch.keyText(slot)),
        units: [...batch.units.subarray(0, batch.slotCount)],
        ttls: [...batch.ttls.subarray(0, batch.slotCount)],
        expiries: [...batch.expiries.subarray(0, batch.slotCount)],
        prints: [...batch.prints.subarray(0, batch.slotCount * 3)],
        amounts: [...batch.changes.amounts.subarray(0, batch.slotCount)],
        refunds: [...batch.changes.refunds.subarray(0, batch.slotCount)],
        limits: [...batch.opLimits.subarray(0, batch.opCount)],
        held: [...batch.groupHeld.subarray(0, batch.groupCount)],
      });
    }),
  );
  t.equal(store.secondsApart, true);
  const groups = [
    { ops: [{ key: 'ä', hits: 3, limit: 7, unit: 1 }], held: true },
    { ops: [] },
    {
      ops: [
        { key: 'ä', hits: 2, isRefund: true, unit: 2 },
        { key: 'ä', hits: 1, unit: 1 },
      ],
    },
  ];
  const batch = batchOf([]);
  batch.secondsApart = true;
  fill(batch, groups);
  await store.increment(batch);
  t.match(seen, [
    {
      nowS: 1_700_000_000,
      secondsApart: true,
      calls: 2,
      keys: ['ä', 'ä'],
      units: [1, 2],
      ttls: [60, 60],
      expiries: [1_700_000_060, 1_700_000_060],
      prints: [...batch.prints.subarray(0, 6)],
      amounts: [4, 0],
      refunds: [0, 2],
      limits: [7, 100, 100],
      held: [1, 0, 0],
    },
  ]);
});

t.test('the store receives the terms of the slots that it admits, and the milliseconds', async t => {
  const seen: unknown[] = [];
  const { store } = handedOn(
    t,
    storeOf(batch => {
      const slots = Array.from({ length: batch.slotCount }, (_, slot) => slot);
      seen.push(
        batch.nowMs,
        slots.map(slot => batch.admissions.termsOf(slot)),
      );
      batch.opRefused[1] = 1;
      batch.admissions.floors[2] = 5;
      batch.admissions.previous[2] = 6;
    }),
  );
  const terms = [tokenBucket(7, 60), slidingWindow(9, 30)] as const;
  const ops = [
    { key: 'a', hits: 1 },
    { key: 'b', hits: 1, terms: terms[0] },
    { key: 'c', hits: 1, terms: terms[1] },
  ];
  const batch = batchOf([{ ops }], atMs(1));
  await store.increment(batch);
  t.same(seen, [atMs(1).nowMs, [{}, { terms: terms[0] }, { terms: terms[1] }]]);
  t.same([...batch.opRefused.subarray(0, 3)], [0, 1, 0]);
  t.same([batch.admissions.floors[2], batch.admissions.previous[2]], [5, 6]);
});

t.test('the store receives the leases of ops, and what it says of them comes back', async t => {
  const terms = reserving(10, { forS: 2_592_000, estimate: 4_000_000_000, allowsOverdraft: true });
  const seen: unknown[] = [];
  const { store } = handedOn(
    t,
    storeOf(batch => {
      const { leases } = batch;
      const holders = [1, 3, 4].map(op => {
        const { action, bytes, start, end } = leases.leaseOf(op);
        return [action, Buffer.from(bytes.subarray(start, end)).toString()];
      });
      seen.push(leases.count, leases.of(1), holders);
      for (const [i, column] of [leases.hits, leases.spent, leases.held].entries())
        column.set([0, i, 0, 0, 7]);
      leases.steps.set([0, STEP.extend, 0, 0, STEP.take]);
      for (const [i, column] of [leases.slotHeld, leases.slotEndsMs, leases.slotExpired].entries())
        column[1] = i + 8;
    }),
  );
  const leased = (holder: string): TestOp => ({
    key: 'b',
    hits: 1,
    terms,
    lease: { holder, action: ACTION.extend },
  });
  const plain = (key: string): TestOp => ({ key, hits: 1 });
  const ops = [plain('a'), leased('ä'), plain('c'), leased(''), leased('z'), plain('d')];
  const batch = batchOf([]);
  for (let round = 0; round < 2; round++) {
    fill(batch, [{ ops }]);
    await store.incrementHoldingBack(batch);
    const { leases } = batch;
    const holders = ['ä', '', 'z'].map(holder => [ACTION.extend, holder]);
    t.same(seen.splice(0), [3, terms.lease, holders]);
    t.same(
      [leases.hits, leases.spent, leases.held].map(column => [column[1], column[4]]),
      [0, 1, 2].map(number => [number, 7]),
    );
    t.same([leases.steps[1], leases.steps[4]], [STEP.extend, STEP.take]);
    t.same([leases.slotHeld[1], leases.slotEndsMs[1], leases.slotExpired[1]], [8, 9, 10]);
  }
});

t.test('keys without a count, and the reason, come back', async t => {
  const { store } = handedOn(
    t,
    storeOf(batch => {
      batch.opAfters.set([Number.NaN, 5]);
      batch.failureText = 'the first server is away';
    }),
  );
  const batch = batchOf([{ ops: [...ONE, { key: 'b', hits: 1 }] }]);
  await store.increment(batch);
  t.same(aftersOf(batch), [Number.NaN, 5]);
  t.equal(batch.failureText, 'the first server is away');
});

t.test('the ops that were counted elsewhere come back', async t => {
  let elsewhere: readonly number[] | null = [0, 1];
  const { store } = handedOn(
    t,
    storeOf(batch => {
      if (elsewhere === null) return;
      batch.countedElsewhere = true;
      batch.opElsewhere.set(elsewhere);
    }),
  );
  const batch = batchOf([]);
  const counted = async () => {
    fill(batch, [{ ops: [...ONE, { key: 'b', hits: 1 }] }]);
    await store.increment(batch);
    return [batch.isCountedElsewhere(0), batch.isCountedElsewhere(1)];
  };
  t.same(await counted(), [false, true]);
  elsewhere = [1, 0];
  t.same(await counted(), [true, false]);
  elsewhere = null;
  t.same(await counted(), [false, false]);
});

t.test('a failure arrives as the same fault, and another error as an error', async t => {
  let failure: Error = new Fault('store_failed', 'Redis at x: no answer');
  const { store } = handedOn(
    t,
    storeOf(async () => {
      throw failure;
    }),
  );
  await t.rejects(count(store, ONE), failure);
  await t.rejects(countHoldingBack(store, [{ ops: ONE }]), { name: 'Fault', code: 'store_failed' });
  await t.rejects(store.read(batchOf([{ ops: ONE }])), {
    code: 'store_failed',
    message: 'the test store cannot be read',
  });
  failure = new TypeError('a bug');
  await t.rejects(count(store, ONE), { message: 'a bug' });
});

t.test('when the other thread closes its store, every batch fails', async t => {
  const { store, port } = handedOn(
    t,
    storeOf(() => new Promise(() => {})),
  );
  const counting = [count(store, ONE), count(store, ONE)];
  port.close();
  const closed = { code: 'store_failed', message: /shutting down/ };
  for (const each of counting) await t.rejects(each, closed);
  await t.rejects(count(store, ONE), closed, 'also later ones');
});

t.test('the number of batches in flight has a limit', async t => {
  const { store } = handedOn(
    t,
    storeOf(() => new Promise(() => {})),
  );
  const counting = Array.from({ length: 256 }, () => count(store, ONE));
  await t.rejects(count(store, ONE), {
    code: 'store_failed',
    message: /256 batches of this serving thread wait/,
  });
  await store.stop();
  for (const each of counting) await t.rejects(each, { code: 'store_failed' });
});
