import type { Clock, Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { TaskStore } from './task-store.ts';

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
  readonly #store: Pick<TaskStore, 'now'>;
  readonly #clock: Clock;
  readonly #monotonicMs: () => number;
  /** Store time minus monotonic time; null until the store has replied. */
  #differenceMs: number | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  /**
   * @param clock is used for timers, and for the time until the store has replied
   * @param monotonicMs milliseconds of a monotonic clock
   */
  constructor(store: Pick<TaskStore, 'now'>, clock: Clock, monotonicMs: () => number) {
    this.#store = store;
    this.#clock = clock;
    this.#monotonicMs = monotonicMs;
  }

  nowMs(): number {
    if (this.#differenceMs === null) return this.#clock.nowMs();
    return Math.floor(this.#monotonicMs() + this.#differenceMs);
  }

  after(delayMs: number, run: () => void): Timer {
    return this.#clock.after(delayMs, run);
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
        if (!this.#stopped) this.#timer = this.#clock.after(ASK_EVERY_MS, this.#askAgain);
      });
  };

  async #ask(): Promise<void> {
    const askedMs = this.#monotonicMs();
    const storeMs = await this.#store.now();
    const [least, most] = [storeMs - this.#monotonicMs(), storeMs - askedMs];
    this.#differenceMs = Math.min(Math.max(this.#differenceMs ?? most, least), most);
  }
}
