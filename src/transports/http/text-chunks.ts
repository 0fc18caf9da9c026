/**
 * A chunk has at least this many characters, which two things ask for. uWebSockets.js tells whether the socket has
 * taken a write only for one that its own buffer of 16 KiB does not hold. And the system calls a socket writable when
 * a third of its buffer is free: that is more than a chunk, so no more than two of them ever wait in memory.
 */
const CHUNK_CHARACTERS = 16 * 1024;

/** Puts the pieces of a long text together to chunks that are worth a write each. */
export class TextChunks {
  readonly #pieces: Iterator<string>;
  #gathered = '';
  #ended = false;

  constructor(pieces: Iterable<string>) {
    this.#pieces = pieces[Symbol.iterator]();
  }

  /** True once all pieces are taken. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The next chunk, of which the last may be short or empty; null when an empty piece, a pause, comes before its end. */
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

  /** Gives the rest up. */
  close(): void {
    this.#pieces.return?.();
  }
}
