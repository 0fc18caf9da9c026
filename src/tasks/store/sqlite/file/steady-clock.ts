/** How fast the time of the store passes while the clock of the host is behind it. */
const SLOWED = 0.5;

/**
 * The time of a store whose host may have its clock set. It never runs backwards and never stands still: after a step
 * back it continues from where it was, at half speed, until the clock of the host has caught up. So a wait of any length
 * becomes longer by at most the step, and never shorter. A step forward is followed at once, because it cannot be
 * distinguished from a host that was suspended.
 */
export class SteadyClock {
  readonly #hostMs: () => number;
  readonly #monotonicMs: () => number;
  #latest = Number.NEGATIVE_INFINITY;
  /** The last readings of both clocks. */
  #host = Number.NEGATIVE_INFINITY;
  #monotonic: number;
  #backsteps = 0;

  /**
   * @param hostMs milliseconds since the epoch
   * @param monotonicMs a monotonic clock
   */
  constructor(hostMs: () => number, monotonicMs: () => number) {
    this.#hostMs = hostMs;
    this.#monotonicMs = monotonicMs;
    this.#monotonic = monotonicMs();
  }

  /** Whole milliseconds since the epoch. */
  nowMs(): number {
    const host = this.#hostMs();
    const monotonic = this.#monotonicMs();
    const passed = Math.max(0, monotonic - this.#monotonic);
    if (host < this.#host) this.#backsteps++;
    this.#host = host;
    this.#monotonic = monotonic;
    this.#latest = Math.max(host, this.#latest + passed * SLOWED);
    return Math.floor(this.#latest);
  }

  /** The time was at least this, as another process or an earlier run saw it. */
  notBefore(ms: number): void {
    this.#latest = Math.max(this.#latest, ms);
  }

  /** How often the clock of the host was set back. */
  get backsteps(): number {
    return this.#backsteps;
  }
}
