import type { Timer } from '../../base/clock.ts';
import { type EventLoop, THREAD_LOOP } from '../../base/event-loop.ts';

/**
 * The time for which a batch is delayed so that more requests join it (`KVCACHE_PIPELINE_WINDOW`).
 *
 * Windows are fractions of a millisecond, which timers cannot measure. Therefore, the event loop spins during the last two
 * milliseconds of a window, which uses all spare time of a core.
 */
export class BatchWindow {
  readonly #lengthMs: number;
  readonly #loop: EventLoop;
  #endsMs = 0;
  #run: (() => void) | null = null;
  #timer: Timer | null = null;
  #turning = false;

  constructor(lengthMs: number, loop: EventLoop = THREAD_LOOP) {
    this.#lengthMs = lengthMs;
    this.#loop = loop;
  }

  /** Opens the window. `run` is called at its end, unless the window is shut before. */
  open(run: () => void): void {
    this.#run = run;
    this.#endsMs = this.#loop.nowMs() + this.#lengthMs;
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
    const leftMs = this.#endsMs - this.#loop.nowMs();
    if (leftMs >= 2) this.#timer = this.#loop.after(Math.floor(leftMs) - 1, this.#wait);
    else if (leftMs > 0) {
      this.#turning = true;
      this.#loop.nextTurn(this.#wait);
    } else {
      this.#run = null;
      run();
    }
  };
}
