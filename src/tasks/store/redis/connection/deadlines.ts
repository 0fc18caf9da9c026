import type { Clock, Timer } from '../../../../base/clock.ts';

/** Something that must be over by its time. */
interface Deadline {
  at: number;
  readonly missed: () => void;
}

/** Bounds many waits of the same length with one timer: the first to begin is the first to be over. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #waiting = new Set<Deadline>();
  #timer: Timer | null = null;

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Calls `missed` when the wait is over, unless `done` is called before. */
  begin(missed: () => void): Deadline {
    const deadline = { at: this.#clock.nowMs() + this.#waitMs, missed };
    this.#waiting.add(deadline);
    this.#timer ??= this.#clock.after(this.#waitMs, () => this.#check());
    return deadline;
  }

  done(deadline: Deadline): void {
    this.#waiting.delete(deadline);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#waiting.clear();
  }

  #check(): void {
    this.#timer = null;
    const now = this.#clock.nowMs();
    for (const deadline of this.#waiting) {
      // A clock that was set back must not make anybody wait much longer.
      deadline.at = Math.min(deadline.at, now + this.#waitMs);
      if (deadline.at > now) {
        this.#timer = this.#clock.after(deadline.at - now, () => this.#check());
        return;
      }
      this.#waiting.delete(deadline);
      deadline.missed();
    }
  }
}
