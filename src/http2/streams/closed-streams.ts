/** How many streams that were closed before the peer had ended its request are remembered one by one. */
const REMEMBERED = 1_024;

/** What to do with a frame of the peer on a closed stream. */
type LateFrame = 'ignore' | 'reset' | 'fault';

/** What has to be known of streams that are closed, in bounded memory. */
export class ClosedStreams {
  /**
   * Streams whose request the peer has not ended, oldest first. True when the peer reset the stream, and no frame has
   * come on it since.
   */
  readonly #unfinished = new Map<number, boolean>();
  /** The highest id that was dropped from `#unfinished`. */
  #droppedUpTo = 0;
  #firstSkipped = 0;
  #lastSkipped = 0;

  /** How many streams are remembered one by one. */
  get size(): number {
    return this.#unfinished.size;
  }

  /** Notes that the peer may send on, because it does not know yet that we have reset the stream. */
  awaitEnd(id: number): void {
    this.#remember(id, false);
  }

  /**
   * Notes that the peer has reset a stream whose request it had not ended. Netty writes frames that were queued before
   * the reset after it, when all of them leave in one flush.
   */
  resetByPeer(id: number): void {
    this.#remember(id, true);
  }

  /** Whether the peer may still have had a request to send on this stream when it was closed. */
  isUnfinished(id: number): boolean {
    return this.#unfinished.has(id);
  }

  /**
   * What to do with a frame of a request on a closed stream (RFC 9113, 5.1). Frames on a stream that we reset were
   * in flight and are ignored. The first frame on a stream that the peer reset is a stream error; the answer to it is
   * our reset, so that what follows is ignored as well. After END_STREAM nothing may follow.
   *
   * If memory has run out the frame is ignored: a fault would end the connection of an honest peer.
   */
  late(id: number, endStream: boolean): LateFrame {
    const isReset = this.#unfinished.get(id);
    if (isReset === undefined) return id <= this.#droppedUpTo ? 'ignore' : 'fault';
    if (endStream) this.#unfinished.delete(id);
    else if (isReset) this.#unfinished.set(id, false);
    return isReset ? 'reset' : 'ignore';
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

  #remember(id: number, isReset: boolean): void {
    this.#unfinished.set(id, isReset);
    if (this.#unfinished.size <= REMEMBERED) return;
    const oldest = this.#unfinished.keys().next().value as number;
    this.#unfinished.delete(oldest);
    this.#droppedUpTo = Math.max(this.#droppedUpTo, oldest);
  }
}
