import { type BackoffBounds, backoffMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';

/** Delays that can be ended early when their owner is stopped. */
export class Waits {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after the delay, or when `cancelAll` is called. */
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

/** Delays between attempts to connect at startup, and the time after which startup fails (0: never). */
export interface StartBounds extends BackoffBounds {
  readonly maxElapsedMs: number;
}

interface PatientStart {
  /** The server as log lines and the error name it. */
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
 * Retries until an attempt succeeds.
 * @throws Error after the startup timeout, or if the owner is stopped; the text names the address and the last cause
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
          `could not connect to Redis at ${address} within ${elapsedMs} ms (the limit is ${bounds.maxElapsedMs} ms): ${message}`,
        );
      }
      failed(message);
      await waits.wait(backoffMs(bounds, attempts, random));
    }
  }
  throw new Error(`stopped connecting to Redis at ${address} because the service is shutting down`);
}
