import type { Clock, Timer } from '../base/clock.ts';

/** Something that has a deadline. */
export interface Dated {
  /** Milliseconds since the epoch. */
  readonly deadlineMs: number;
  /** Called once the deadline has passed. */
  expire(): void;
}

/** Maximum delay of a Node.js timer. */
const LONGEST_DELAY_MS = 2_147_483_647;

/** Number of deadlines that may be scanned per millisecond since the last scan. */
const SCANNED_PER_MS = 10_000;

/**
 * Many deadlines on one timer. Nearly all calls end long before their deadlines, so a timer for each call would be
 * wasted work. In exchange, all deadlines are scanned whenever the timer fires. With very many deadlines the timer
 * fires less often, so that scans use only a small part of the CPU, and deadlines expire a few milliseconds late.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #pending = new Set<Dated>();
  #timer: Timer | null = null;
  #dueMs = Number.POSITIVE_INFINITY;
  /** Time of the last scan. */
  #scannedMs = Number.NEGATIVE_INFINITY;

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

  /** Stops the timer and drops all deadlines. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#pending.clear();
    this.#dueMs = Number.POSITIVE_INFINITY;
  }

  /** Sets the timer so that it fires for this deadline. */
  #arm(deadlineMs: number): void {
    if (deadlineMs >= this.#dueMs) return;
    const dueMs = Math.max(deadlineMs, this.#scannedMs + this.#pending.size / SCANNED_PER_MS);
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
    this.#scannedMs = nowMs;
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
