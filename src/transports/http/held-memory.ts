/** Keeps memory for a caller who has not sent, or not read, the rest. */
export interface Holder {
  /** Gives up: its memory has been taken off the count already. */
  giveWay(): void;
}

/**
 * What all requests of a port keep in memory while they wait for their callers: bodies that are not complete, and
 * answers that are not read. When it comes to more than the bound, the requests that have waited longest give way. A
 * body that arrives at the pace of a network is complete long before it is among those, whatever else is held.
 */
export class HeldMemory {
  readonly #max: number;
  /** By age: what is held longest comes first. */
  readonly #holders = new Map<Holder, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * `holder` keeps so many bytes more. Others give way where that is too much, and in the end `holder` itself, unless
   * it is the only one.
   */
  hold(holder: Holder, bytes: number): void {
    this.#holders.set(holder, (this.#holders.get(holder) ?? 0) + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#max && this.#holders.size > 1) {
      const [oldest] = this.#holders.keys();
      this.release(oldest);
      oldest.giveWay();
    }
  }

  /** `holder` keeps nothing any more. */
  release(holder: Holder): void {
    this.#bytes -= this.#holders.get(holder) ?? 0;
    this.#holders.delete(holder);
  }
}
