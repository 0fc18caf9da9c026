export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A pending timer of a {@link Clock}. */
export interface Timer {
  /** Prevents the run. Harmless when it already ran or was cancelled. */
  cancel(): void;
}

/** The only source of time: whatever reads a clock or waits takes one of these, so that tests own the time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Runs `run` once, `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  nowMs: Date.now,
  after(delayMs, run) {
    const handle = setTimeout(run, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};
