import type { CounterBatch } from '../../../src/counters/batch.ts';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import { ROW_SLOTS } from '../../../src/decision/statistics/rule-statistics.ts';
import { addTotal, sharedTotals } from '../../../src/decision/statistics/shared-totals.ts';
import { RULE_STAT } from '../../../src/stats/names.ts';
import { batchOf, type CountingTime } from '../../../test/support/counting.ts';

/** What the threads do, and what one operation of it is. */
export const KINDS = {
  hot: 'one hot counter: one lock, claim, add and unlock',
  keys: '100 000 counters: the same for one of them',
  row: 'one hot row of statistics: the two additions of a decision',
  own: 'control: a counter and a table for each thread',
} as const;
export type Kind = keyof typeof KINDS;

/** Memory of all threads. The control has a table for each of them. */
export interface SharedMemory {
  readonly hot: SharedArrayBuffer;
  readonly keys: SharedArrayBuffer;
  readonly totals: Int32Array<SharedArrayBuffer>;
  readonly own: readonly SharedArrayBuffer[];
}

/** Operations between two looks at the clock of the benchmark. */
export const OPERATIONS_AT_ONCE = 800;

const KEYS = 100_000;
const KEYS_A_BATCH = 400;
/** The default of the service. */
const MAX_KEYS = 1_048_576;
/** The counters never expire. */
const TIME: CountingTime = { nowS: 1_700_000_000, ttlS: 60, expiryS: 1_700_000_060 };

export function sharedMemory(threads: number): SharedMemory {
  const table = (): SharedArrayBuffer => CounterTable.create(MAX_KEYS).buffer;
  return {
    hot: table(),
    keys: table(),
    totals: sharedTotals(ROW_SLOTS),
    own: Array.from({ length: threads }, table),
  };
}

/** A function that does {@link OPERATIONS_AT_ONCE} operations in the thread with this number, counted from 0. */
export function workOf(kind: Kind, memory: SharedMemory, thread: number): () => void {
  switch (kind) {
    case 'hot':
      return countOne(memory.hot);
    case 'own':
      return countOne(memory.own[thread]);
    case 'keys':
      return countMany(memory.keys, thread);
    case 'row':
      return () => {
        for (let i = 0; i < OPERATIONS_AT_ONCE; i++) {
          addTotal(memory.totals, RULE_STAT.totalHits, 1);
          addTotal(memory.totals, RULE_STAT.withinLimit, 1);
        }
      };
  }
}

/** The batcher combines equal keys, so a batch of any size is one operation on a hot counter. */
function countOne(buffer: SharedArrayBuffer): () => void {
  const store = new EmbeddedCounterStore(CounterTable.attach(buffer));
  const batch = batchOfKeys(0, 1);
  return () => {
    for (let i = 0; i < OPERATIONS_AT_ONCE; i++) store.increment(batch);
  };
}

/** Each thread counts all keys, batch by batch, and begins at a different one. */
function countMany(buffer: SharedArrayBuffer, thread: number): () => void {
  const store = new EmbeddedCounterStore(CounterTable.attach(buffer));
  const batches = Array.from({ length: KEYS / KEYS_A_BATCH }, (_, i) =>
    batchOfKeys(i * KEYS_A_BATCH, KEYS_A_BATCH),
  );
  let next = Math.floor((thread * batches.length) / 7);
  return () => {
    for (let done = 0; done < OPERATIONS_AT_ONCE; done += KEYS_A_BATCH) {
      store.increment(batches[next++ % batches.length]);
    }
  };
}

function batchOfKeys(first: number, count: number): CounterBatch {
  const ops = Array.from({ length: count }, (_, i) => ({ key: `bench_user_user-${first + i}`, hits: 1 }));
  return batchOf([{ ops }], TIME);
}
