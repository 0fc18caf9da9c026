/**
 * Chunks below this size are joined. A small chunk of its own would need more memory for bookkeeping than for its
 * bytes.
 */
const SMALL_BYTES = 4 * 1024;

/** Size of the buffer into which small chunks are joined. */
const JOINED_BYTES = 16 * 1024;

/** The chunks of a body, copied into separate memory that can be transferred to another thread. */
export class KeptPieces {
  #pieces: Uint8Array[] = [];
  /** The buffer for small chunks. While it has room, it is the last piece. */
  #joined = new Uint8Array(0);
  #filled = 0;

  /** Keeps a copy of `chunk`. Returns the number of bytes allocated for it. */
  add(chunk: Uint8Array): number {
    const fitting = chunk.subarray(0, this.#joined.length - this.#filled);
    this.#joined.set(fitting, this.#filled);
    this.#filled += fitting.length;
    const rest = chunk.subarray(fitting.length);
    if (rest.length === 0) return 0;
    // Nearly all bodies arrive in one chunk, so the first chunk is kept as it is.
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

  /** Returns the pieces and clears this object. */
  take(): Uint8Array[] {
    const pieces = this.#pieces;
    if (this.#filled < this.#joined.length) pieces[pieces.length - 1] = this.#joined.slice(0, this.#filled);
    this.#pieces = [];
    this.#joined = new Uint8Array(0);
    this.#filled = 0;
    return pieces;
  }
}
