import type { Timer } from '../../src/base/clock.ts';
import { ManualClock } from './manual-clock.ts';

/** A clock that only moves when told to, and tells when somebody waits. */
export class WaitClock extends ManualClock {
  #begun: () => void = () => {};

  override after(delayMs: number, run: () => void): Timer {
    const timer = super.after(delayMs, run);
    this.#begun();
    return timer;
  }

  /** Resolves once somebody waits for `delayMs`, and lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    await this.awaited(delayMs);
    this.advance(delayMs);
  }

  /** Resolves once somebody waits for `delayMs`. */
  async awaited(delayMs: number): Promise<void> {
    while (!this.pendingDelaysMs.includes(delayMs)) {
      await new Promise<void>(resolve => {
        this.#begun = resolve;
      });
    }
  }
}
