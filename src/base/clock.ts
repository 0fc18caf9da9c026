export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A pending timer of a {@link Clock}. */
export interface Timer {
  /** Cancels the timer. Does nothing if it has already run or was canceled. */
  cancel(): void;
}

/** The only source of time: code that reads the time or waits takes a `Clock`, so that tests can control the time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Runs `run` once, `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
}

/** Waits for `done`, but not longer than `boundMs`. Rejects if `done` rejects within this time. */
export async function within(
  clock: Pick<Clock, 'after'>,
  boundMs: number,
  done: Promise<unknown> | null,
): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = clock.after(boundMs, late.resolve);
  try {
    await Promise.race([done, late.promise]);
  } finally {
    timer.cancel();
  }
}

export const systemClock: Clock = {
  nowMs: Date.now,
  after(delayMs, run) {
    const handle = setTimeout(run, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};
