import type { Clock } from '../../base/clock.ts';

/** The requests of one listener that wait for their answer, and whether the listener is closing down. */
export class Traffic {
  #inFlight = 0;
  #draining = false;
  #whenIdle: (() => void) | null = null;

  /** How many requests have arrived and are neither answered nor given up by their caller. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** True once answers tell the caller to close the connection. */
  get draining(): boolean {
    return this.#draining;
  }

  drain(): void {
    this.#draining = true;
  }

  arrived(): void {
    this.#inFlight++;
  }

  finished(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#whenIdle?.();
  }

  /** Resolves once no request is in flight, or after `boundMs` if that comes first. */
  idle(clock: Clock, boundMs: number): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise(resolve => {
      const bound = clock.after(boundMs, resolve);
      this.#whenIdle = () => {
        bound.cancel();
        resolve();
      };
    });
  }
}
