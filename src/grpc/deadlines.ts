import type { Clock, Timer } from '../base/clock.ts';

/** Something that may take only so long. */
export interface Dated {
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number;
  /** Called once the deadline has passed. */
  expire(): void;
}

/** Timers take no longer delay. */
const LONGEST_DELAY_MS = 2_147_483_647;

/** Deadlines that a millisecond between two looks at all of them pays for. */
const LOOKED_AT_PER_MS = 10_000;

/**
 * Deadlines behind one timer: nearly all calls are over long before theirs, so a timer for each would be work for
 * nothing. The price is a look at all of them whenever the timer fires. That is kept to a small part of the time,
 * whatever deadlines callers choose: with very many of them it fires less often, and they pass some milliseconds late.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #pending = new Set<Dated>();
  #timer: Timer | null = null;
  #dueMs = Number.POSITIVE_INFINITY;
  /** When all were looked at last. */
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#pending.size;
  }

  add(dated: Dated): void {
    this.#pending.add(dated);
    this.#arm(dated.deadlineMs);
  }

  remove(dated: Dated): void {
    this.#pending.delete(dated);
  }

  /** Ends the timer; nothing expires any more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#pending.clear();
    this.#dueMs = Number.POSITIVE_INFINITY;
  }

  /** Sees to it that the timer fires for this deadline. */
  #arm(deadlineMs: number): void {
    if (deadlineMs >= this.#dueMs) return;
    const dueMs = Math.max(deadlineMs, this.#lookedMs + this.#pending.size / LOOKED_AT_PER_MS);
    if (dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    const delayMs = Math.max(Math.ceil(dueMs - this.#clock.nowMs()), 1);
    this.#timer = this.#clock.after(Math.min(delayMs, LONGEST_DELAY_MS), () => this.#fire());
  }

  #fire(): void {
    this.#timer = null;
    this.#dueMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.nowMs();
    this.#lookedMs = nowMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const dated of this.#pending) {
      if (dated.deadlineMs <= nowMs) {
        this.#pending.delete(dated);
        dated.expire();
      } else if (dated.deadlineMs < nextMs) nextMs = dated.deadlineMs;
    }
    this.#arm(nextMs);
  }
}
