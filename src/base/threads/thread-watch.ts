import type { Clock, Timer } from '../clock.ts';

/** How often a thread that is waited for is checked. */
const CHECK_MS = 1_000;

/**
 * Number of checks in a row without an answer after which a thread counts as hung. Checks are counted instead of time:
 * when the whole process was stopped or the machine suspended, only one check falls into that time, and the thread can
 * answer before the next one. Garbage collections take less than this.
 */
const SILENT_CHECKS = 10;

interface ThreadWatchParts {
  readonly clock: Clock;
  /** Whether anything waits for the thread. */
  readonly isAwaited: () => boolean;
  /** Sends a message that the thread answers in its next turn of the event loop. */
  readonly ping: () => void;
  /** Called once. The thread has not answered a ping since then (milliseconds since the epoch). */
  readonly hung: (sinceMs: number) => void;
}

/**
 * Notices that the event loop of a thread no longer turns, because of an endless loop or a call that blocks. A thread
 * that nothing waits for is not checked, so that an idle process does not wake up.
 */
export class ThreadWatch {
  readonly #parts: ThreadWatchParts;
  #timer: Timer | null = null;
  #pingedMs: number | null = null;
  #silentChecks = 0;

  constructor(parts: ThreadWatchParts) {
    this.#parts = parts;
  }

  /** Call with each message to the thread. */
  sent(): void {
    if (this.#timer === null) this.#checkLater();
  }

  /** Call when the thread has answered the ping. */
  answered(): void {
    this.#pingedMs = null;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #checkLater(): void {
    this.#timer = this.#parts.clock.after(CHECK_MS, () => this.#check());
  }

  #check(): void {
    const { clock, isAwaited, ping, hung } = this.#parts;
    this.#timer = null;
    if (this.#pingedMs === null) {
      if (!isAwaited()) return;
      this.#pingedMs = clock.nowMs();
      this.#silentChecks = 0;
      ping();
    } else if (++this.#silentChecks >= SILENT_CHECKS) {
      hung(this.#pingedMs);
      return;
    }
    this.#checkLater();
  }
}
