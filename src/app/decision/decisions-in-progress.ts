import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Batcher } from '../../decision/batching/batcher.ts';

/**
 * Keeps the store open until the last decision is made, or until the deadline of the shutdown. Callers that gave up leave
 * decisions behind when ports close.
 */
export class DecisionsInProgress implements Service {
  readonly name = 'decisions in progress';
  readonly #batcher: Batcher;
  readonly #drainUntilMs: () => number;
  readonly #clock: Clock;
  readonly #logger: Logger;

  /** @param drainUntilMs The deadline of the shutdown in milliseconds since the epoch */
  constructor(
    batcher: Batcher,
    drainUntilMs: () => number,
    { clock, logger }: { clock: Clock; logger: Logger },
  ) {
    this.#batcher = batcher;
    this.#drainUntilMs = drainUntilMs;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    const bound = Promise.withResolvers<void>();
    const timer = this.#clock.after(Math.max(this.#drainUntilMs() - this.#clock.nowMs(), 0), bound.resolve);
    await Promise.race([this.#batcher.drained(), bound.promise]);
    timer.cancel();
    const requests = this.#batcher.pending;
    if (requests > 0)
      this.#logger.warning('Shutdown timeout: the store has not answered some requests', { requests });
  }
}
