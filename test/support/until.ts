import type { CounterStore } from '../../src/counters/store.ts';
import { count, type TestOp } from './counting.ts';

/** Number of turns of the event loop after which a condition is asked less often. */
const EAGER_TURNS = 20;
const PAUSE_MS = 5;

/**
 * Waits for a condition; tap's time-out is the bound. Most conditions hold within a few turns of the event loop. The
 * others wait for a process or a clock, which must have the CPU meanwhile.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await holds()); turn++) {
    await new Promise(resolve => {
      if (turn < EAGER_TURNS) setImmediate(resolve);
      else setTimeout(resolve, PAUSE_MS);
    });
  }
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
