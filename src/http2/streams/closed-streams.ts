/** Maximum number of remembered streams that were closed before the peer had ended its request. */
const REMEMBERED = 1_024;

/** How to handle a frame of the peer on a closed stream. */
type LateFrame = 'ignore' | 'reset' | 'fault';

/** Remembers closed streams as far as later frames need it, in bounded memory. */
export class ClosedStreams {
  /**
   * Streams whose request the peer had not ended, oldest first. The value is true if the peer reset the stream and has
   * not sent a frame on it since.
   */
  readonly #unfinished = new Map<number, boolean>();
  /** The highest id that was dropped from `#unfinished`. */
  #droppedUpTo = 0;
  #firstSkipped = 0;
  #lastSkipped = 0;

  /** Number of remembered streams. */
  get size(): number {
    return this.#unfinished.size;
  }

  /**
   * Remembers a stream that was reset before the peer had ended its request: the peer may still send frames on it.
   *
   * @param byPeer whether the peer reset it. Netty can write frames after the reset that were queued before it, if all
   *   of them are flushed together
   */
  remember(id: number, byPeer: boolean): void {
    this.#unfinished.set(id, byPeer);
    if (this.#unfinished.size <= REMEMBERED) return;
    const oldest = this.#unfinished.keys().next().value as number;
    this.#unfinished.delete(oldest);
    this.#droppedUpTo = Math.max(this.#droppedUpTo, oldest);
  }

  /** Whether the stream is remembered as closed before the peer had ended its request. */
  isUnfinished(id: number): boolean {
    return this.#unfinished.has(id);
  }

  /**
   * How to handle a frame of a request on a closed stream (RFC 9113, 5.1). Frames on a stream that the server reset
   * were in flight and are ignored. The first frame on a stream that the peer reset is a stream error. The server
   * answers it with a reset of its own, so later frames are ignored as well. Nothing may follow END_STREAM.
   *
   * Frames on streams that are no longer remembered are ignored, because a fault would end an honest peer's connection.
   */
  late(id: number, endStream: boolean): LateFrame {
    const isReset = this.#unfinished.get(id);
    if (isReset === undefined) return id <= this.#droppedUpTo ? 'ignore' : 'fault';
    if (endStream) this.#unfinished.delete(id);
    else if (isReset) this.#unfinished.set(id, false);
    return isReset ? 'reset' : 'ignore';
  }

  /** Records ids that the peer skipped. The latest range is enough: honest peers skip at most the first id. */
  skip(first: number, last: number): void {
    this.#firstSkipped = first;
    this.#lastSkipped = last;
  }

  /** Whether the stream was closed without ever being used. */
  wasSkipped(id: number): boolean {
    return id >= this.#firstSkipped && id <= this.#lastSkipped;
  }
}
