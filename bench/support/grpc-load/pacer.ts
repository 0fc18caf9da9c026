/** A call that leaves this much later than it should is late; below that it is the granularity of timers. */
const LATE_MS = 2;

/** Decides, tick by tick, how many calls of a steady rate are due. */
export class Pacer {
  readonly #tickLengthMs: number;
  readonly #callsPerTick: number;
  /** When the next tick is due. */
  #tickMs: number;
  /** The fraction of a call that is due but cannot be sent. */
  #owed = 0;

  /** @param tickMs milliseconds between two ticks, with fractions */
  constructor(callsPerSecond: number, startedMs: number, tickMs = 1) {
    this.#tickLengthMs = tickMs;
    this.#callsPerTick = (callsPerSecond * tickMs) / 1_000;
    this.#tickMs = startedMs + tickMs;
  }

  /** When the next tick is due. */
  get nextMs(): number {
    return this.#tickMs;
  }

  /**
   * Calls `begin` for each tick that has passed, with the moment from which its calls count. That is now, unless the
   * tick is late: then it is when they were due, so that a server that is slow is not asked less (coordinated omission).
   */
  due(nowMs: number, begin: (calls: number, startedMs: number) => void): void {
    for (; this.#tickMs <= nowMs; this.#tickMs += this.#tickLengthMs) {
      this.#owed += this.#callsPerTick;
      const calls = Math.floor(this.#owed);
      this.#owed -= calls;
      if (calls > 0) begin(calls, nowMs - this.#tickMs <= LATE_MS ? nowMs : this.#tickMs);
    }
  }
}
