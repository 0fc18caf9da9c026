import type { Clock, Timer } from '../../../../src/base/clock.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

/** A clock that moves only when the test moves it, and signals when a timer starts or is cancelled. */
export class SignallingClock implements Clock {
  readonly #manual = new ManualClock(1_700_000_000_000);
  #started: () => void = () => {};
  #cancelled: () => void = () => {};

  nowMs(): number {
    return this.#manual.nowMs();
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = this.#manual.after(delayMs, run);
    this.#started();
    return {
      cancel: () => {
        timer.cancel();
        this.#cancelled();
      },
    };
  }

  get pendingDelaysMs(): number[] {
    return this.#manual.pendingDelaysMs;
  }

  advance(byMs: number): void {
    this.#manual.advance(byMs);
  }

  /** Resolves at the next start of a timer. */
  started(): Promise<void> {
    return new Promise(resolve => {
      this.#started = resolve;
    });
  }

  /** Resolves when the next timer is cancelled. */
  cancelled(): Promise<void> {
    return new Promise(resolve => {
      this.#cancelled = resolve;
    });
  }
}
