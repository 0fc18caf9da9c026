import type { Clock, Timer } from '../../src/base/clock.ts';

interface PendingTimer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock that only moves when told to; timers that fall due run in order while it moves. */
export class ManualClock implements Clock {
  #nowMs: number;
  #pending: PendingTimer[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** As a clock that nobody sets: it moves with the other one, and never back. */
  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = { dueMs: this.#nowMs + delayMs, run };
    this.#pending.push(timer);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter(other => other !== timer);
      },
    };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#pending.length;
  }

  /** The delays until each waiting timer falls due, soonest first. */
  get pendingDelaysMs(): number[] {
    return this.#pending.map(timer => timer.dueMs - this.#nowMs).sort((a, b) => a - b);
  }

  advance(byMs: number): void {
    this.moveTo(this.#nowMs + byMs);
  }

  moveTo(nowMs: number): void {
    for (;;) {
      const due = this.#pending.filter(timer => timer.dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (due === undefined) break;
      this.#pending = this.#pending.filter(other => other !== due);
      this.#nowMs = Math.max(this.#nowMs, due.dueMs);
      due.run();
    }
    this.#nowMs = nowMs;
  }
}
