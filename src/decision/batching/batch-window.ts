import type { Timer } from '../../base/clock.ts';

interface BatchWindowParts {
  readonly lengthMs: number;
  /** A monotonic clock, in milliseconds with fractions. */
  readonly nowMs: () => number;
  /** Starts a timer, which may be late by a millisecond or more. */
  readonly after: (delayMs: number, run: () => void) => Timer;
  /** Schedules a function for the next turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
}

/**
 * The time for which a batch is delayed so that more requests join it (`KVCACHE_PIPELINE_WINDOW`).
 *
 * Windows are fractions of a millisecond, which timers cannot measure. Therefore, the event loop spins during the last two
 * milliseconds of a window, which uses all spare time of a core.
 */
export class BatchWindow {
  readonly #parts: BatchWindowParts;
  #endsMs = 0;
  #run: (() => void) | null = null;
  #timer: Timer | null = null;
  #turning = false;

  constructor(parts: BatchWindowParts) {
    this.#parts = parts;
  }

  /** Opens the window. `run` is called at its end, unless the window is shut before. */
  open(run: () => void): void {
    this.#run = run;
    this.#endsMs = this.#parts.nowMs() + this.#parts.lengthMs;
    if (!this.#turning) this.#wait();
  }

  shut(): void {
    this.#run = null;
    this.#timer?.cancel();
    this.#timer = null;
  }

  readonly #wait = (): void => {
    this.#turning = false;
    this.#timer = null;
    const run = this.#run;
    if (run === null) return;
    const leftMs = this.#endsMs - this.#parts.nowMs();
    if (leftMs >= 2) this.#timer = this.#parts.after(Math.floor(leftMs) - 1, this.#wait);
    else if (leftMs > 0) {
      this.#turning = true;
      this.#parts.nextTurn(this.#wait);
    } else {
      this.#run = null;
      run();
    }
  };
}
