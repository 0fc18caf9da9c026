import t from 'tap';
import type { CounterBatch } from '../../../src/counters/batch.ts';
import type { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import { heldBackChanges, holdBack, spreadHeldBack } from '../../../src/counters/holding-back.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { embeddedStore } from '../../support/stores.ts';

/** A store that can only read counts and apply changes: what to hold back is decided for it. */
function decidedFor(store: EmbeddedCounterStore): CounterStore {
  return {
    name: 'decided for',
    increment: batch => store.increment(batch),
    read: batch => store.read(batch),
    reset: batch => store.reset(batch),
    incrementHoldingBack: batch => {
      store.read(batch);
      holdBack(batch);
      const { amounts, refunds, opens } = heldBackChanges(batch);
      batch.changes.amounts.set(amounts);
      batch.changes.refunds.set(refunds);
      batch.changes.opens.set(opens);
      applied(store, batch);
      spreadHeldBack(batch);
    },
    start: async () => {},
    stop: async () => {},
  };
}

/** Applies the changes of the slots; the counts before are what ops are spread from. */
function applied(store: EmbeddedCounterStore, batch: CounterBatch): void {
  store.read(batch);
  const { penalties } = batch.admissions;
  const columns = () => [
    batch.counts,
    penalties.violations,
    penalties.penalties,
    penalties.closes,
    penalties.untils,
  ];
  const before = columns().map(column => column.slice());
  store.increment(batch);
  for (const [i, column] of columns().entries()) column.set(before[i]);
}

t.test('a store for which it is decided what to hold back', t => {
  counterStoreExam(t, async () => decidedFor(embeddedStore(16_384)), {
    leases: 'what calls do to leases is decided by the store',
  });
  t.end();
});
