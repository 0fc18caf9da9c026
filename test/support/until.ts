import type { CounterStore } from '../../src/counters/store.ts';
import { count, type TestOp } from './counting.ts';

/** Waits for a condition, a turn of the event loop at a time; tap's time-out is the bound. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setImmediate(resolve));
}

/** Counts until the store answers for every key; what was answered then. */
export async function untilCounted(store: CounterStore, ops: readonly TestOp[]): Promise<number[]> {
  for (;;) {
    try {
      const afters = await count(store, ops);
      if (!afters.some(Number.isNaN)) return afters;
    } catch {
      // Not yet.
    }
    await new Promise(resolve => setImmediate(resolve));
  }
}
