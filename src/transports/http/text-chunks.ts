/**
 * Minimum number of characters of a chunk. uWebSockets.js reports whether the socket has accepted a write only if the
 * write does not fit into its own buffer of 16 KiB. The system reports a socket as writable when a third of its buffer
 * is free, which is more than a chunk, so at most two chunks wait in memory.
 */
const CHUNK_CHARACTERS = 16 * 1024;

/** Joins the pieces of a long text into chunks that are large enough for a write each. */
export class TextChunks {
  readonly #pieces: Iterator<string>;
  #gathered = '';
  #ended = false;

  constructor(pieces: Iterable<string>) {
    this.#pieces = pieces[Symbol.iterator]();
  }

  /** True once all pieces have been read. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Returns the next chunk; null if a pause (an empty piece) comes before its end. The last chunk may be short or
   * empty.
   */
  next(): string | null {
    while (this.#gathered.length < CHUNK_CHARACTERS) {
      const { done, value } = this.#pieces.next();
      if (done) {
        this.#ended = true;
        break;
      }
      if (value === '') return null;
      this.#gathered += value;
    }
    const chunk = this.#gathered;
    this.#gathered = '';
    return chunk;
  }

  /** Discards the remaining pieces. */
  close(): void {
    this.#pieces.return?.();
  }
}
