import type { Clock } from '../base/clock.ts';

/**
 * Terminals, npm and supervisors that signal a whole process group deliver one request to stop as several signals.
 * Signals within this time of the first are that same request.
 */
const SAME_REQUEST_MS = 500;

/**
 * The time between the request to stop and the shutdown itself. Health is bad and everything is still served, so that
 * proxies and load balancers have sent their calls elsewhere by the time the ports close. A second request ends it.
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

  /** Begins the delay; resolves when it has passed or a second request has ended it. */
  async passed(): Promise<void> {
    const end = this.#clock.after(this.#delayMs, this.#over.resolve);
    const another = this.#clock.after(SAME_REQUEST_MS, () => {
      this.#canEndEarly = true;
    });
    await this.#over.promise;
    end.cancel();
    another.cancel();
  }

  /** Tells of another request to stop. */
  requestedAgain(): void {
    if (this.#canEndEarly) this.#over.resolve();
  }
}
