import type { Clock } from '../base/clock.ts';

/**
 * Terminals, npm and supervisors signal a whole process group, so one request to stop can arrive as several signals.
 * Signals within this time of the first one are part of the same request.
 */
const SAME_REQUEST_MS = 500;

/**
 * The delay between the request to stop and the shutdown. The service is already unhealthy but still serves requests,
 * so that proxies and load balancers can redirect their calls before the ports close. A second request ends the delay.
 */
export class ShutdownDelay {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #over = Promise.withResolvers<void>();
  #canEndEarly = false;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  /** Starts the delay. Resolves when the delay has passed or a second request has ended it. */
  async passed(): Promise<void> {
    const end = this.#clock.after(this.#delayMs, this.#over.resolve);
    const another = this.#clock.after(SAME_REQUEST_MS, () => {
      this.#canEndEarly = true;
    });
    await this.#over.promise;
    end.cancel();
    another.cancel();
  }

  /** Reports another request to stop. */
  requestedAgain(): void {
    if (this.#canEndEarly) this.#over.resolve();
  }
}
