import type { Clock, Timer } from '../base/clock.ts';

/** A reply that must come by its time. */
interface Expected {
  at: number;
  readonly late: () => void;
}

/** Timeouts of equal length for many replies, with one timer: the first that begins is the first that ends. */
export class ReplyTimeouts {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expected = new Set<Expected>();
  #timer: Timer | null = null;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Calls `late` when the timeout has passed, unless `received` is called first. */
  begin(late: () => void): Expected {
    const expected = { at: this.#clock.nowMs() + this.#timeoutMs, late };
    this.#expected.add(expected);
    this.#timer ??= this.#clock.after(this.#timeoutMs, () => this.#check());
    return expected;
  }

  received(expected: Expected): void {
    this.#expected.delete(expected);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#expected.clear();
  }

  #check(): void {
    this.#timer = null;
    const now = this.#clock.nowMs();
    for (const expected of this.#expected) {
      // If the clock was set back, a timeout must not become longer.
      expected.at = Math.min(expected.at, now + this.#timeoutMs);
      if (expected.at > now) {
        this.#timer = this.#clock.after(expected.at - now, () => this.#check());
        return;
      }
      this.#expected.delete(expected);
      expected.late();
    }
  }
}
