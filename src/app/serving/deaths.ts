import type { Clock, Timer } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';

/** The process is unhealthy if this number of serving threads ended within {@link SPAN_MS}. */
const MANY = 5;
const SPAN_MS = 60_000;

/** The health component of the serving threads. */
const COMPONENT = 'serving_threads';

/**
 * Makes the process unhealthy while its serving threads die again and again: callers should go to another instance,
 * because each death closes the connections of a thread.
 */
export class Deaths {
  readonly #health: Health;
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();

  constructor(health: Health, clock: Clock) {
    this.#health = health;
    this.#clock = clock;
    health.set(COMPONENT, true);
  }

  /** Call when a thread has ended without having been stopped. */
  add(): void {
    const timer = this.#clock.after(SPAN_MS, () => {
      this.#timers.delete(timer);
      this.#tell();
    });
    this.#timers.add(timer);
    this.#tell();
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #tell(): void {
    const deaths = this.#timers.size;
    if (deaths < MANY) this.#health.set(COMPONENT, true);
    else this.#health.set(COMPONENT, false, `${deaths} serving threads ended within a minute; see the log`);
  }
}
