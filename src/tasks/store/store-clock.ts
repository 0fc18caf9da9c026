import type { Clock, Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { TaskStore } from './task-store.ts';

interface StoreClockParts {
  readonly store: Pick<TaskStore, 'now'>;
  /** Used until the store has told its time, and for timers. */
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets. */
  readonly monotonicMs: () => number;
}

/** How often the store is asked for its time. */
const ASK_EVERY_MS = 1_000;

/**
 * The clock of the store, for a thread that works with stored times. The clock of its own host may be set, or differ from
 * that of Redis; compared with stored times it would let tokens expire or schedules fire early.
 *
 * Between two answers of the store, time passes by a monotonic clock. An answer narrows down the difference of both
 * clocks, which is corrected by as little as the answer allows, so that a slow answer does no harm.
 */
export class StoreClock implements Clock, Service {
  readonly name = 'clock of the task store';
  readonly #parts: StoreClockParts;
  /** What has to be added to the monotonic clock; null until the store has answered. */
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

  /** Asks the store for the first time, and does not wait for the answer: the connection may be made only later. */
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
