import t from 'tap';
import { Fault } from '../../../src/base/fault.ts';
import { CommandTimeout } from '../../../src/clients/redis/errors.ts';
import type { CounterBatch } from '../../../src/counters/batch.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { TimedStore } from '../../../src/counters/timed-store.ts';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { batchOf, fill, NOON } from '../../support/counting.ts';
import { handedOn } from '../../support/handed-on.ts';
import { sharedStoreKind } from '../../support/stores.ts';

t.test('the exam of counter stores', t => {
  counterStoreExam(
    t,
    async inner => new TimedStore(await sharedStoreKind.open(inner)),
    sharedStoreKind.exempt,
  );
  t.end();
});

/** A store that does with each batch what the test says. */
function storeOf(run: (batch: CounterBatch) => void | Promise<void>): CounterStore {
  const nothing = async () => {};
  return { name: 'test', increment: run, incrementHoldingBack: run, start: nothing, stop: nothing };
}

const TWO = [
  {
    ops: [
      { key: 'a', hits: 1 },
      { key: 'b', hits: 1 },
    ],
  },
];

t.test('a call is timed, and its keys are counted', async t => {
  const batch = batchOf(TWO);
  let insideMs = 0;
  const store = new TimedStore(
    storeOf(async () => {
      const from = performance.now();
      await new Promise(setImmediate);
      insideMs = performance.now() - from;
    }),
  );
  const beganMs = Date.now();
  const from = performance.now();
  await store.increment(batch);
  const outsideMs = performance.now() - from;
  const call = batch.timedCall!;
  t.match(call, { keys: 2, keysPerSecond: 0, failure: null });
  t.ok(call.beganMs >= beganMs && call.beganMs <= Date.now());
  t.ok(call.durationMs >= insideMs && call.durationMs <= outsideMs, `${call.durationMs} ms`);
  fill(batch, TWO, NOON);
  t.equal(batch.timedCall, null, 'the next batch begins without one');
  await store.incrementHoldingBack(batch);
  t.not(batch.timedCall, null);
});

t.test('a failure is noted and passed on, in a synchronous store as well', async t => {
  const failures: [Error, string][] = [
    [new Fault('store_failed', 'gone'), 'store_failed'],
    [new Fault('store_failed', 'no answer', { cause: new CommandTimeout('no answer') }), 'timeout'],
    [new TypeError('a defect'), 'internal'],
  ];
  for (const [failure, type] of failures) {
    for (const run of [
      () => Promise.reject(failure),
      () => {
        throw failure;
      },
    ]) {
      const batch = batchOf(TWO);
      await t.rejects(async () => await new TimedStore(storeOf(run)).increment(batch), failure);
      t.match(batch.timedCall, { failure: { type, message: failure.message } });
    }
  }
});

t.test('keys that were not counted are a partial failure', async t => {
  const batch = batchOf(TWO);
  const store = storeOf(each => {
    each.failureText = 'one node is gone';
  });
  new TimedStore(store).increment(batch);
  t.match(batch.timedCall, { failure: { type: 'partial', message: 'one node is gone' } });
});

t.test('the thread that hands a batch on knows of the call, also of one that failed', async t => {
  let fails = false;
  const { store } = handedOn(
    t,
    new TimedStore(
      storeOf(async () => {
        if (fails) throw new Fault('store_failed', 'gone');
      }),
    ),
  );
  const batch = batchOf(TWO);
  await store.increment(batch);
  t.match(batch.timedCall, { keys: 2, failure: null });
  fails = true;
  await t.rejects(store.increment(batch), { code: 'store_failed' });
  t.match(batch.timedCall, { failure: { type: 'store_failed' } });
});
