import type { Clock, Timer } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';

/** The process is unhealthy if this number of serving threads ended within {@link SPAN_MS}. */
const MANY = 5;
const SPAN_MS = 60_000;

/** The health component of the serving threads. */
const COMPONENT = 'serving_threads';

/**
 * Makes the process unhealthy while no serving thread serves, and while the threads die again and again: each death
 * closes the connections of a thread, so callers should go to another instance.
 */
export class ServingHealth {
  readonly #health: Health;
  readonly #clock: Clock;
  /** One timer for each death in the last {@link SPAN_MS}. */
  readonly #deaths = new Set<Timer>();
  #isServing = true;

  constructor(health: Health, clock: Clock) {
    this.#health = health;
    this.#clock = clock;
    this.#tell();
  }

  /** Call after the start when the number of threads that serve has changed. */
  servingThreads(count: number): void {
    this.#isServing = count > 0;
    this.#tell();
  }

  /** Call when a thread has ended without having been stopped. */
  died(): void {
    const timer = this.#clock.after(SPAN_MS, () => {
      this.#deaths.delete(timer);
      this.#tell();
    });
    this.#deaths.add(timer);
    this.#tell();
  }

  stop(): void {
    for (const timer of this.#deaths) timer.cancel();
    this.#deaths.clear();
  }

  #tell(): void {
    const deaths = this.#deaths.size;
    const note = !this.#isServing
      ? 'no serving thread is running; see the log'
      : deaths >= MANY
        ? `${deaths} serving threads ended within a minute; see the log`
        : null;
    this.#health.set(COMPONENT, note === null, note);
  }
}
