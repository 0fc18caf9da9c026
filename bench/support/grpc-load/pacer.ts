/** A call that leaves this much later than it should is late; below that it is the granularity of timers. */
const LATE_MS = 2;
const TICK_MS = 1;

/** Decides, tick by tick, how many calls of a steady rate are due. */
export class Pacer {
  readonly #callsPerTick: number;
  /** When the next tick is due. */
  #tickMs: number;
  /** The fraction of a call that is due but cannot be sent. */
  #owed = 0;

  constructor(callsPerSecond: number, startedMs: number) {
    this.#callsPerTick = (callsPerSecond * TICK_MS) / 1_000;
    this.#tickMs = startedMs + TICK_MS;
  }

  /**
   * Calls `begin` for each tick that has passed, with the moment from which its calls count. That is now, unless the
   * tick is late: then it is when they were due, so that a server that is slow is not asked less (coordinated omission).
   */
  due(nowMs: number, begin: (calls: number, startedMs: number) => void): void {
    for (; this.#tickMs <= nowMs; this.#tickMs += TICK_MS) {
      this.#owed += this.#callsPerTick;
      const calls = Math.floor(this.#owed);
      this.#owed -= calls;
      if (calls > 0) begin(calls, nowMs - this.#tickMs <= LATE_MS ? nowMs : this.#tickMs);
    }
  }
}
