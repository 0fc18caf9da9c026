import type { Clock } from '../base/clock.ts';

/** Minimum interval between two log lines with the same reason, in milliseconds. */
const QUIET_MS = 10_000;

/** Maximum number of reasons per interval. Further reasons are not logged. */
const MAX_REASONS = 16;

interface Known {
  readonly writtenMs: number;
  /** Number of failures since then. */
  times: number;
}

/**
 * Limits the log lines for failures that can occur with every request. A new reason is logged immediately, then at most
 * once in ten seconds, with the number of failures.
 */
export class FailureLog {
  readonly #clock: Clock;
  readonly #write: (reason: string, times: number) => void;
  /** In the order in which they were logged. */
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock, write: (reason: string, times: number) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  failed(reason: string): void {
    const nowMs = this.#clock.nowMs();
    const known = this.#known.get(reason);
    if (known !== undefined && isQuiet(known, nowMs)) {
      known.times++;
      return;
    }
    if (known === undefined && !this.#makeRoom(nowMs)) return;
    this.#known.delete(reason);
    this.#known.set(reason, { writtenMs: nowMs, times: 0 });
    this.#write(reason, (known?.times ?? 0) + 1);
  }

  #makeRoom(nowMs: number): boolean {
    if (this.#known.size < MAX_REASONS) return true;
    const [[oldest, known]] = this.#known;
    if (isQuiet(known, nowMs)) return false;
    return this.#known.delete(oldest);
  }
}

/** Also false if the clock was set back. */
function isQuiet(known: Known, nowMs: number): boolean {
  return Math.abs(nowMs - known.writtenMs) < QUIET_MS;
}
