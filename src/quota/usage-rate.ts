import { SECOND_MS } from '../base/clock.ts';

/** Reports that follow each other faster than this make one rate together, because a rate from a moment says little. */
const LEAST_BETWEEN_MS = 200;

/** How many requests per second a proxy allows and denies, by its last reports. Tells people; nothing is decided by it. */
export class UsageRate {
  /** Requests per second; 0 before the second report. */
  allowed = 0;
  denied = 0;
  /** When the last report arrived from which rates were made; 0 before. */
  #sinceMs = 0;
  /** Requests that were reported later. */
  #allowed = 0;
  #denied = 0;

  /** Adds a report that has arrived. */
  add(allowed: number, denied: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#sinceMs;
    this.#allowed += allowed;
    this.#denied += denied;
    if (elapsedMs < LEAST_BETWEEN_MS) return;
    // The first report does not say since when its requests were counted.
    if (this.#sinceMs > 0) {
      this.allowed = (this.#allowed * SECOND_MS) / elapsedMs;
      this.denied = (this.#denied * SECOND_MS) / elapsedMs;
    }
    this.#sinceMs = nowMs;
    this.#allowed = 0;
    this.#denied = 0;
  }
}
