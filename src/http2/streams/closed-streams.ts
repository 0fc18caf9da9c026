/** How many streams that we ended before the peer did are remembered one by one. */
const REMEMBERED = 1_024;

/** What has to be known of streams that are closed, in bounded memory. */
export class ClosedStreams {
  /** Streams that we ended and the peer has not, oldest first. */
  readonly #awaited = new Set<number>();
  /** The highest id that was dropped from `#awaited`. */
  #droppedUpTo = 0;
  #firstSkipped = 0;
  #lastSkipped = 0;

  /** How many streams are remembered one by one. */
  get size(): number {
    return this.#awaited.size;
  }

  /** Notes that the peer may send on, because it does not know yet that we have reset the stream. */
  awaitEnd(id: number): void {
    this.#awaited.add(id);
    if (this.#awaited.size <= REMEMBERED) return;
    const oldest = this.#awaited.values().next().value as number;
    this.#awaited.delete(oldest);
    this.#droppedUpTo = Math.max(this.#droppedUpTo, oldest);
  }

  /** Notes that the peer has ended the stream as well: whatever comes after that breaks a rule. */
  ended(id: number): void {
    this.#awaited.delete(id);
  }

  /**
   * Whether a frame of the peer may have been under way when we ended the stream: it is to be ignored (RFC 9113, 5.1).
   * Where memory has run out the answer is yes, since the other one would end the connection of an honest peer.
   */
  mayStillCome(id: number): boolean {
    return this.#awaited.has(id) || id <= this.#droppedUpTo;
  }

  /** Notes ids that the peer passed over; the latest are enough, as honest peers pass over one at most, the first. */
  skip(first: number, last: number): void {
    this.#firstSkipped = first;
    this.#lastSkipped = last;
  }

  /** Whether the stream was closed without ever being used. */
  wasSkipped(id: number): boolean {
    return id >= this.#firstSkipped && id <= this.#lastSkipped;
  }
}
