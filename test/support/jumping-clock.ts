import { ManualClock } from './manual-clock.ts';

/** The clock of a host that somebody sets: what it says jumps, and timers go on as if nothing had happened. */
export class JumpingClock extends ManualClock {
  #aheadMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.#aheadMs;
  }

  /** What no one can set. */
  override monotonicMs(): number {
    return super.nowMs();
  }

  /** By how much it was set in all, in milliseconds. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Sets it, back where `byMs` is negative. */
  jump(byMs: number): void {
    this.#aheadMs += byMs;
  }
}
