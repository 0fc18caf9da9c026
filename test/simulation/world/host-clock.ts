import type { Clock, Timer } from '../../../src/base/clock.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** The clock of a host, which can be set. Timers of a host that has died do not run. */
export class HostClock implements Clock {
  readonly #time: SimulatedTime;
  readonly #isAlive: () => boolean;
  #aheadMs: number;
  readonly #jumps: { readonly atMs: number; readonly byMs: number }[] = [];

  constructor(time: SimulatedTime, isAlive: () => boolean, aheadMs = 0) {
    this.#time = time;
    this.#isAlive = isAlive;
    this.#aheadMs = aheadMs;
  }

  nowMs(): number {
    return this.#time.nowMs() + this.#aheadMs;
  }

  /** What nobody can set. */
  readonly monotonicMs = (): number => this.#time.nowMs();

  after(delayMs: number, run: () => void): Timer {
    return this.#time.after(delayMs, () => {
      if (this.#isAlive()) run();
    });
  }

  /** Sets the clock; back if `byMs` is negative. */
  jump(byMs: number): void {
    this.#aheadMs += byMs;
    this.#jumps.push({ atMs: this.#time.nowMs(), byMs });
  }

  /** By how much it was set forward in the last `ms`. */
  jumpedWithin(ms: number): number {
    const since = this.#time.nowMs() - ms;
    const recent = this.#jumps.filter(({ atMs, byMs }) => atMs >= since && byMs > 0);
    return recent.reduce((sum, { byMs }) => sum + byMs, 0);
  }
}
