/** Divides shared memory into columns, one after the other. All threads must ask for the same columns in the same order. */
export class Columns {
  readonly #buffer: SharedArrayBuffer;
  #at = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer;
  }

  int32(length: number): Int32Array {
    return new Int32Array(this.#buffer, this.#take(length * 4), length);
  }

  float64(length: number): Float64Array {
    return new Float64Array(this.#buffer, this.#take(length * 8), length);
  }

  bytes(length: number): Uint8Array {
    return new Uint8Array(this.#buffer, this.#take(length), length);
  }

  /** Each column starts at a cache line, which also satisfies the alignment of all types. */
  #take(bytes: number): number {
    const start = this.#at;
    this.#at = Math.ceil((start + bytes) / 64) * 64;
    return start;
  }
}
