/** Smaller chunks are put together: each alone would take more memory for its management than it has bytes. */
const SMALL_BYTES = 4 * 1024;

/** What small chunks are put together to. */
const JOINED_BYTES = 16 * 1024;

/** The chunks of a body, copied into memory of its own that can be handed to another thread. */
export class KeptPieces {
  #pieces: Uint8Array[] = [];
  /** The piece that small chunks are put into. While it has room it is the last one. */
  #joined = new Uint8Array(0);
  #filled = 0;

  /** Keeps a copy of `chunk`. Returns how many bytes of memory that has taken. */
  add(chunk: Uint8Array): number {
    const fitting = chunk.subarray(0, this.#joined.length - this.#filled);
    this.#joined.set(fitting, this.#filled);
    this.#filled += fitting.length;
    const rest = chunk.subarray(fitting.length);
    if (rest.length === 0) return 0;
    // Nearly all bodies come in one chunk.
    if (rest.length >= SMALL_BYTES || this.#pieces.length === 0) {
      this.#pieces.push(new Uint8Array(rest));
      return rest.length;
    }
    this.#joined = new Uint8Array(JOINED_BYTES);
    this.#joined.set(rest);
    this.#filled = rest.length;
    this.#pieces.push(this.#joined);
    return JOINED_BYTES;
  }

  /** Hands over what is kept; nothing is, afterwards. */
  take(): Uint8Array[] {
    const pieces = this.#pieces;
    if (this.#filled < this.#joined.length) pieces[pieces.length - 1] = this.#joined.slice(0, this.#filled);
    this.#pieces = [];
    this.#joined = new Uint8Array(0);
    this.#filled = 0;
    return pieces;
  }
}
