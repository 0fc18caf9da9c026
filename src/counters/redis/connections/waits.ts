import type { Clock, Timer } from '../../../base/clock.ts';

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
