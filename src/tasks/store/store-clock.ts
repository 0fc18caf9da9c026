import type { Clock, Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { TaskStore } from './task-store.ts';

interface StoreClockParts {
  readonly store: Pick<TaskStore, 'now'>;
  /** Used for timers, and for the time until the store has replied. */
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock. */
  readonly monotonicMs: () => number;
}

/** Interval at which the store is asked for its time. */
const ASK_EVERY_MS = 1_000;

/**
 * The clock of the store, for a thread that compares stored times. The clock of the host may be changed, or differ from
 * that of Redis. With it, tokens could expire and schedules could fire too early.
 *
 * Between two replies of the store, a monotonic clock is used. Each reply gives bounds of the difference between both
 * clocks. The difference is changed only as far as these bounds require, so that a slow reply does no harm.
 */
export class StoreClock implements Clock, Service {
  readonly name = 'clock of the task store';
  readonly #parts: StoreClockParts;
  /** Store time minus monotonic time; null until the store has replied. */
  #differenceMs: number | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(parts: StoreClockParts) {
    this.#parts = parts;
  }

  nowMs(): number {
    const { clock, monotonicMs } = this.#parts;
    if (this.#differenceMs === null) return clock.nowMs();
    return Math.floor(monotonicMs() + this.#differenceMs);
  }

  after(delayMs: number, run: () => void): Timer {
    return this.#parts.clock.after(delayMs, run);
  }

  /** Asks the store, but does not wait for the reply, because the connection may be opened later. */
  async start(): Promise<void> {
    this.#askAgain();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  readonly #askAgain = (): void => {
    this.#ask()
      // While the store is unavailable, time passes as before.
      .catch(() => {})
      .finally(() => {
        if (!this.#stopped) this.#timer = this.#parts.clock.after(ASK_EVERY_MS, this.#askAgain);
      });
  };

  async #ask(): Promise<void> {
    const { store, monotonicMs } = this.#parts;
    const askedMs = monotonicMs();
    const storeMs = await store.now();
    const [least, most] = [storeMs - monotonicMs(), storeMs - askedMs];
    this.#differenceMs = Math.min(Math.max(this.#differenceMs ?? most, least), most);
  }
}
