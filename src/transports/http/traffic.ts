import type { Clock, Timer } from '../../base/clock.ts';

/**
 * A listener that drains asks every caller to close. Callers that send one request after the other learn of it within
 * this time; connections that stay silent for as long are idle, and are closed.
 */
const SILENCE_MS = 100;

/** The connections of one listener, the requests that wait for their answer, and whether the listener is closing down. */
export class Traffic {
  readonly #maxConnections: number;
  #connections = 0;
  #inFlight = 0;
  #arrivals = 0;
  #draining = false;
  #whenEmpty: (() => void) | null = null;

  constructor(maxConnections: number) {
    this.#maxConnections = maxConnections;
  }

  /** True if there are more connections than allowed. The connection that was opened last is then refused. */
  get crowded(): boolean {
    return this.#connections > this.#maxConnections;
  }

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

  /** A connection has been opened (1) or has ended (-1). */
  connectionsChanged(change: number): void {
    this.#connections += change;
    if (this.#connections === 0) this.#whenEmpty?.();
  }

  arrived(): void {
    this.#inFlight++;
    this.#arrivals++;
  }

  finished(): void {
    this.#inFlight--;
  }

  /**
   * Resolves once every connection has ended, or the ones that are left have been silent for {@link SILENCE_MS}, or
   * after `boundMs`, at once where that is 0. To close a connection any earlier would reset a request that is on its way.
   */
  drained(clock: Clock, boundMs: number): Promise<void> {
    if (this.#connections === 0 || boundMs === 0) return Promise.resolve();
    return new Promise(resolve => {
      const done = (): void => {
        bound.cancel();
        silence.cancel();
        this.#whenEmpty = null;
        resolve();
      };
      const listen = (): Timer => {
        const before = this.#arrivals;
        // Once sockets have been read: when this process got no time, requests wait there that came long ago.
        return clock.after(SILENCE_MS, () => setImmediate(judge, before));
      };
      const judge = (before: number): void => {
        if (this.#whenEmpty !== done) return;
        if (this.#inFlight === 0 && this.#arrivals === before) done();
        else silence = listen();
      };
      let silence = listen();
      const bound = clock.after(boundMs, done);
      this.#whenEmpty = done;
    });
  }
}
