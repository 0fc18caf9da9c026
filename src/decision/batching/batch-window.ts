import type { Timer } from '../../base/clock.ts';

interface BatchWindowParts {
  readonly lengthMs: number;
  /** A clock that never steps back, in milliseconds with fractions. */
  readonly nowMs: () => number;
  /** A timer, which may be late by a millisecond and more. */
  readonly after: (delayMs: number, run: () => void) => Timer;
  /** Runs something when everybody else who is ready has run. */
  readonly nextTurn: (run: () => void) => void;
}

/**
 * The time that a batch is held back so that more requests join it (`KVCACHE_PIPELINE_WINDOW`).
 *
 * Windows are parts of a millisecond, and no timer is that fine: the last two milliseconds pass turn by turn of the
 * event loop. That takes what a core has left, for as long as the operator asked for.
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

  /** Opens the window; `run` is called at its end, unless it is shut before. */
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
