import { type Clock, systemClock, type Timer } from '../../../src/base/clock.ts';

/** The system's clock, which knows how many timers wait: those of the server keep no process alive, so Node.js lists none of them. */
export class CountingClock implements Clock {
  readonly #pending = new Set<Timer>();

  get pendingTimers(): number {
    return this.#pending.size;
  }

  nowMs(): number {
    return systemClock.nowMs();
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = systemClock.after(delayMs, () => {
      this.#pending.delete(timer);
      run();
    });
    this.#pending.add(timer);
    return {
      cancel: () => {
        this.#pending.delete(timer);
        timer.cancel();
      },
    };
  }
}
