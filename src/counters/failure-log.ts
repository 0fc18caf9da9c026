import type { Clock } from '../base/clock.ts';

/** How long a reason that was written stays unwritten. */
const QUIET_MS = 10_000;

/** Reasons that are told apart; more of them in one quiet time are not written at all. */
const MAX_REASONS = 16;

interface Known {
  readonly writtenMs: number;
  /** How often it came since. */
  times: number;
}

/**
 * Failures that come with every request, as few log lines: a reason is written at once when it is new, and then at
 * most once in ten seconds, with how often it came meanwhile.
 */
export class FailureLog {
  readonly #clock: Clock;
  readonly #write: (reason: string, times: number) => void;
  /** The one written longest ago comes first. */
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

/** A clock that was set back ends the quiet as well. */
function isQuiet(known: Known, nowMs: number): boolean {
  return Math.abs(nowMs - known.writtenMs) < QUIET_MS;
}
