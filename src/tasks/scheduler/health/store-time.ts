import type { Clock } from '../../../base/clock.ts';

/**
 * The clock of the store as this process knows it: the process clock and a difference. It follows from what the store
 * says, each time corrected by as little as that allows, so a slow answer does not spoil it.
 */
export class StoreTime {
  readonly #clock: Clock;
  #aheadMs = 0;
  #known = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since the epoch, by the store's clock. */
  nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs;
  }

  /** The store said that it was `storeMs`, in an answer to what was asked at `askedMs` of the process clock. */
  learn(storeMs: number, askedMs: number): void {
    const least = storeMs - this.#clock.nowMs();
    const most = Math.max(least, storeMs - askedMs);
    this.#aheadMs = this.#known ? Math.min(Math.max(this.#aheadMs, least), most) : least;
    this.#known = true;
  }
}
