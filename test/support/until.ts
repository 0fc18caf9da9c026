import type { CounterStore } from '../../src/counters/store.ts';
import { count, type TestOp } from './counting.ts';

/** Number of turns of the event loop after which a condition is asked less often. */
const EAGER_TURNS = 20;
const PAUSE_MS = 5;
/** The longest pause, and its share of the time waited so far. */
const LONGEST_PAUSE_MS = 25;
const PAUSE_SHARE = 1 / 40;

/**
 * Waits for a condition; tap's time-out is the bound. Most conditions hold within a few turns of the event loop. The
 * others wait for a process or a clock, which must have the CPU meanwhile: the longer it takes, the less often they are
 * asked, because many of them ask a service.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const sinceMs = performance.now();
  for (let turn = 0; !(await holds()); turn++) {
    await new Promise(resolve => {
      if (turn < EAGER_TURNS) setImmediate(resolve);
      else setTimeout(resolve, pauseMs(performance.now() - sinceMs));
    });
  }
}

function pauseMs(waitedMs: number): number {
  return Math.min(Math.max(PAUSE_MS, waitedMs * PAUSE_SHARE), LONGEST_PAUSE_MS);
}

/** Waits until the operation succeeds. */
export function untilDone(operation: () => Promise<unknown>): Promise<void> {
  return until(() =>
    operation().then(
      () => true,
      () => false,
    ),
  );
}

/** Waits until the operation fails in this way. */
export function untilFailed(
  operation: () => Promise<unknown>,
  isExpected: (failure: Error) => boolean,
): Promise<void> {
  return until(() => operation().then(() => false, isExpected));
}

/** The most that one question and the pause after it take on a machine that is not busy. */
const ROUND_MS = 20;

/**
 * Asks a process until it answers as expected. Returns how long it did not, in milliseconds, without the time in which the
 * machine had something else to do: that holds up the process as well, so a question that takes longer counts as one that
 * does not.
 */
export async function msUntilAnswer(isExpected: () => Promise<boolean>): Promise<number> {
  for (let ms = 0; ; ) {
    const sinceMs = performance.now();
    if (await isExpected()) return ms;
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    ms += Math.min(performance.now() - sinceMs, ROUND_MS);
  }
}

/** Counts until the store answers for every key; what was answered then. */
export async function untilCounted(store: CounterStore, ops: readonly TestOp[]): Promise<number[]> {
  let afters: number[] = [];
  await until(async () => {
    try {
      afters = await count(store, ops);
      return !afters.some(Number.isNaN);
    } catch {
      return false;
    }
  });
  return afters;
}
