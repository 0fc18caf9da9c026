import type { Clock } from '../../base/clock.ts';

/** Lines of one message that are written without a pause. */
const BURST_LINES = 200;

/** After that, one in this time. */
const LINE_MS = 1_000;

/** Messages that are told apart. The one that was written longest ago gives way. */
const MAX_MESSAGES = 500;

interface Allowance {
  lines: number;
  refilledMs: number;
  suppressed: number;
}

/**
 * Bounds how often a message is logged, whatever its fields are: {@link BURST_LINES} at once, and one a second after that.
 * A defect, or a caller who sends nonsense, must not fill the disk or hide the other lines.
 */
export class RepeatBound {
  readonly #clock: Clock;
  readonly #allowances = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many lines of this message were suppressed before this one; null when this one is suppressed as well. */
  admit(message: string): number | null {
    const allowance = this.#allowance(message);
    if (allowance.lines < 1) {
      allowance.suppressed++;
      return null;
    }
    const { suppressed } = allowance;
    allowance.lines--;
    allowance.suppressed = 0;
    return suppressed;
  }

  #allowance(message: string): Allowance {
    const nowMs = this.#clock.nowMs();
    const known = this.#allowances.get(message);
    if (known === undefined) {
      if (this.#allowances.size >= MAX_MESSAGES) {
        const [oldest] = this.#allowances.keys();
        this.#allowances.delete(oldest);
      }
      const allowance = { lines: BURST_LINES, refilledMs: nowMs, suppressed: 0 };
      this.#allowances.set(message, allowance);
      return allowance;
    }
    this.#allowances.delete(message);
    this.#allowances.set(message, known);
    // A clock that was set back must not stop the refill.
    const elapsedMs = Math.abs(nowMs - known.refilledMs);
    known.lines = Math.min(BURST_LINES, known.lines + elapsedMs / LINE_MS);
    known.refilledMs = nowMs;
    return known;
  }
}
