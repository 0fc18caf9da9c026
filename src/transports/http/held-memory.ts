/** A request whose body is incomplete, or whose answer the caller has not read yet. */
export interface Holder {
  /** Discards the request or its answer. Its memory is no longer counted when this is called. */
  giveWay(): void;
}

/**
 * Memory of all requests of a port that wait for their callers: incomplete bodies and unread answers. When the total
 * exceeds the limit, the oldest requests are discarded. A body that arrives at normal network speed is complete long
 * before it becomes one of the oldest.
 */
export class HeldMemory {
  readonly #max: number;
  /** Ordered by age, the oldest first. */
  readonly #holders = new Map<Holder, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Bytes that are currently held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts `bytes` more for `holder`. If the total exceeds the limit, the oldest requests are discarded until it fits.
   * `holder` itself may be among them, unless it is the only one.
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

  /** Stops counting the memory of `holder`. */
  release(holder: Holder): void {
    this.#bytes -= this.#holders.get(holder) ?? 0;
    this.#holders.delete(holder);
  }
}
