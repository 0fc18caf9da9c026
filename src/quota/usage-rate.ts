import { SECOND_MS } from '../base/clock.ts';

/** Reports that follow each other faster than this make one rate together, because a rate from a moment says little. */
const LEAST_BETWEEN_MS = 200;

/** How many requests per second a proxy allows and denies, by its last reports. */
export class UsageRate {
  /** Requests per second; 0 before the second report. */
  allowed = 0;
  denied = 0;
  /** The time that the rates are from; 0 before the second report. */
  intervalMs = 0;
  /** When the last report arrived that rates were made from; 0 before. */
  #sinceMs = 0;
  /** Requests that were reported later. */
  #allowed = 0;
  #denied = 0;

  /** Adds a report that has arrived. Returns whether there are other rates. */
  add(allowed: number, denied: number, nowMs: number): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    this.#allowed += allowed;
    this.#denied += denied;
    if (elapsedMs >= 0 && elapsedMs < LEAST_BETWEEN_MS) return false;
    // The first report does not say since when its requests were counted, and neither does one after the clock was set back.
    const isKnown = this.#sinceMs > 0 && elapsedMs > 0;
    if (isKnown) {
      this.allowed = (this.#allowed * SECOND_MS) / elapsedMs;
      this.denied = (this.#denied * SECOND_MS) / elapsedMs;
      this.intervalMs = elapsedMs;
    }
    this.#sinceMs = nowMs;
    this.#allowed = 0;
    this.#denied = 0;
    return isKnown;
  }
}
