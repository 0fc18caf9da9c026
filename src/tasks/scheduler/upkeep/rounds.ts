import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import { isOutage } from '../health/store-outage.ts';

interface RoundsParts {
  readonly name: string;
  /** Between the end of one round and the next. */
  readonly waitMs: number;
  /** How long before the first, so that processes that start together do not work in step. */
  readonly firstWaitMs: number;
  /** Must end soon after `stopped` returns true. Repeated failures are logged once. */
  readonly round: (stopped: () => boolean) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Repeats a piece of work, with a pause in between. */
export class Rounds implements Service {
  readonly name: string;
  readonly #parts: RoundsParts;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  #failing = false;

  constructor(parts: RoundsParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  async start(): Promise<void> {
    if (!this.#stopped) this.#timer ??= this.#parts.clock.after(this.#parts.firstWaitMs, this.#begin);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  readonly #begin = (): void => {
    this.#running = this.#round();
  };

  async #round(): Promise<void> {
    const { name, round, clock, logger, waitMs } = this.#parts;
    try {
      await round(() => this.#stopped);
      if (this.#failing) logger.info('Background work of the task service succeeds again', { work: name });
      this.#failing = false;
    } catch (failure) {
      const reason = asError(failure).message;
      // Outages of the store have their own log lines.
      const level = isOutage(failure) ? 'info' : 'error';
      if (!this.#failing)
        logger[level]('Background work of the task service failed; retrying', { work: name, reason });
      this.#failing = true;
    }
    this.#running = null;
    if (!this.#stopped) this.#timer = clock.after(waitMs, this.#begin);
  }
}
