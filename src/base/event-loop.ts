import { systemClock, type Timer } from './clock.ts';

/** The turns of the event loop of a thread, and its time. Code that divides its work over turns takes one, so that tests can control it. */
export interface EventLoop {
  /** Monotonic milliseconds with fractions, from any start. */
  readonly nowMs: () => number;
  /** Runs `run` once the sockets have been polled again. */
  readonly nextTurn: (run: () => void) => void;
  /** Runs `run` once, `delayMs` from now, or later by a millisecond or more. */
  readonly after: (delayMs: number, run: () => void) => Timer;
}

/** The event loop of this thread. A pending timer does not keep the process alive. */
export const THREAD_LOOP: EventLoop = {
  nowMs: () => performance.now(),
  nextTurn: run => void setImmediate(run),
  after: systemClock.after,
};
