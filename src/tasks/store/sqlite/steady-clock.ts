/** The later of what the clock of the host says and what it has said: for a store time does not run backwards. */
export class SteadyClock {
  readonly #hostMs: () => number;
  #latest = 0;
  /** What it said the last time. */
  #host = 0;
  #backsteps = 0;

  constructor(hostMs: () => number) {
    this.#hostMs = hostMs;
  }

  nowMs(): number {
    const host = this.#hostMs();
    if (host < this.#host) this.#backsteps++;
    this.#host = host;
    this.#latest = Math.max(this.#latest, host);
    return this.#latest;
  }

  /** How often the clock of the host was set back. */
  get backsteps(): number {
    return this.#backsteps;
  }
}
