import { type Clock, SECOND_MS } from '../../base/clock.ts';

/** Maximum number of tokens that are checked at the same time. */
export const MAX_CHECKS = 64;

/** Maximum number of tokens that wait. Each keeps the head of its request. */
export const MAX_WAITING = 2_048;

/** A token that has waited longer is not checked any more. */
export const MAX_WAIT_MS = SECOND_MS;

/** A check that waits. */
interface WaitingCheck {
  readonly sinceMs: number;
  /** Runs the check, unless it is too late. */
  readonly end: (isLate: boolean) => void;
}

/**
 * The checks of the tokens of a thread. Many tokens arrive at once after a start and after a change of the keys, and must not
 * count as invalid then. Forged tokens must not take all time and memory: so the number that wait is bounded, and how long.
 */
export class CheckQueue {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #waiting: WaitingCheck[] = [];
  #running = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** The result of a check once it had its turn; null if it is not run. */
  run<Result>(check: () => Promise<Result>): Promise<Result | null> {
    if (this.#running < MAX_CHECKS) return this.#begin(check);
    this.#endLate();
    if (this.#waiting.length >= MAX_WAITING) return Promise.resolve(null);
    return new Promise(resolve => {
      this.#waiting.push({
        sinceMs: this.#clock.nowMs(),
        end: isLate => resolve(isLate ? null : this.#begin(check)),
      });
    });
  }

  async #begin<Result>(check: () => Promise<Result>): Promise<Result> {
    this.#running++;
    try {
      return await check();
    } finally {
      this.#running--;
      this.#next();
    }
  }

  #next(): void {
    this.#endLate();
    if (this.#running < MAX_CHECKS) this.#waiting.shift()?.end(false);
  }

  /** Also when a check arrives: those that run may hang with the file system. */
  #endLate(): void {
    const lateMs = this.#clock.nowMs() - MAX_WAIT_MS;
    while (this.#waiting.length > 0 && this.#waiting[0].sinceMs < lateMs) this.#waiting.shift()!.end(true);
  }
}
