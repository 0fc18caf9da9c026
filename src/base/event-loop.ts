import { systemClock, type Timer } from './clock.ts';

/**
 * The turns of the event loop of a thread, and its time. Code that divides its work over turns takes one, so that tests can
 * control it.
 */
export interface EventLoop {
  /** Monotonic milliseconds with fractions, from any start. */
  readonly nowMs: () => number;
  /** Runs `run` once the sockets have been polled again. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs `run` once, `delayMs` from now, or later by a millisecond or more. */
  readonly after: (delayMs: number, run: () => void) => Timer;
}

/** What waits for the end of this turn. */
let waiting: (() => void)[] = [];

/**
 * Runs `run` at the end of this turn of the event loop of this thread, when the sockets have been polled and before they are
 * polled again, after everything that was given before.
 */
export function atTurnEnd(run: () => void): void {
  if (waiting.push(run) === 1) setImmediate(endTurn);
}

/**
 * Runs what waits for the end of this turn as soon as the present callback has returned. For code that runs between two polls
 * of the sockets: what it gives to {@link atTurnEnd} would otherwise wait until the sockets have been polled again.
 */
export function endTurn(): void {
  // In a microtask, V8 does not look up where an exception was thrown, which takes longer than refusing an invalid request.
  if (waiting.length > 0) queueMicrotask(runWaiting);
}

function runWaiting(): void {
  const runs = waiting;
  waiting = [];
  let done = 0;
  try {
    for (const run of runs) {
      done++;
      run();
    }
  } finally {
    // If one has thrown, the others run nevertheless.
    for (; done < runs.length; done++) atTurnEnd(runs[done]);
  }
}

/** The event loop of this thread. A pending timer does not keep the process alive. */
export const THREAD_LOOP: EventLoop = {
  nowMs: () => performance.now(),
  nextTurn: run => void setImmediate(run),
  after: systemClock.after,
};
