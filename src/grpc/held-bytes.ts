/**
 * A bound on bytes that several holders keep at the same time. It may be part of a wider one: what a connection holds
 * counts towards what all connections hold.
 */
export class HeldBytes {
  readonly #max: number;
  readonly #within: HeldBytes | null;
  #held = 0;

  constructor(maxBytes: number, within: HeldBytes | null = null) {
    this.#max = maxBytes;
    this.#within = within;
  }

  get held(): number {
    return this.#held;
  }

  get max(): number {
    return this.#max;
  }

  /** Takes room for `bytes`; false, and nothing taken, when there is not enough. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#max) return false;
    if (this.#within !== null && !this.#within.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Counts bytes that are held already, whether or not there is room for them. */
  add(bytes: number): void {
    this.#held += bytes;
    this.#within?.add(bytes);
  }

  release(bytes: number): void {
    this.#held -= bytes;
    this.#within?.release(bytes);
  }
}
