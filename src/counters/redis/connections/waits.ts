import { type BackoffBounds, backoffMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';

/** Waits that end early when their owner stops. */
export class Waits {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after the time, or at once when all are cancelled. */
  wait(forMs: number): Promise<void> {
    return new Promise(resolve => {
      let timer: Timer | null = null;
      const done = () => {
        timer?.cancel();
        this.#pending.delete(done);
        resolve();
      };
      this.#pending.add(done);
      timer = this.#clock.after(forMs, done);
    });
  }

  cancelAll(): void {
    for (const done of [...this.#pending]) done();
  }
}

/** Waits between attempts to connect at start, and the time after which they end (0: never). */
export interface StartBounds extends BackoffBounds {
  readonly maxElapsedMs: number;
}

interface PatientStart {
  /** How log lines and the error name the server. */
  readonly address: string;
  readonly bounds: StartBounds;
  readonly clock: Clock;
  readonly random: () => number;
  readonly waits: Waits;
  readonly isStopped: () => boolean;
  /** Called after each attempt that failed and is followed by another. */
  readonly failed: (reason: string) => void;
}

/**
 * Makes attempts until one succeeds.
 * @throws Error when the time for it is over or a stop was asked for; the text names the address and the last cause
 */
export async function startPatiently(start: PatientStart, attempt: () => Promise<void>): Promise<void> {
  const { address, bounds, clock, random, waits, isStopped, failed } = start;
  const beganMs = clock.nowMs();
  for (let attempts = 0; !isStopped(); attempts++) {
    try {
      return await attempt();
    } catch (failure) {
      if (isStopped()) break;
      const { message } = asError(failure);
      const elapsedMs = clock.nowMs() - beganMs;
      if (bounds.maxElapsedMs > 0 && elapsedMs >= bounds.maxElapsedMs) {
        throw new Error(
          `Redis at ${address} did not answer for ${elapsedMs} ms (the bound is ${bounds.maxElapsedMs} ms): ${message}`,
        );
      }
      failed(message);
      await waits.wait(backoffMs(bounds, attempts, random));
    }
  }
  throw new Error(`connecting to Redis at ${address} was given up because the service stops`);
}
