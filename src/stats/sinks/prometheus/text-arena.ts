const CHUNK_BYTES = 64 * 1024;

/**
 * Many short texts, kept as bytes outside the heap: as strings, hundreds of thousands of them would be copied about by
 * the garbage collector, and everybody would wait for it.
 */
export class TextArena {
  readonly #chunks: Buffer[] = [];
  #free = 0;
  #room = 0;

  /** Keeps a text; {@link get} finds it at the number that is returned. */
  add(text: string): number {
    // No text has more than three bytes for each UTF-16 unit.
    if (this.#room < text.length * 3 + 4) this.#addChunk(text.length * 3 + 4);
    const chunk = this.#chunks[this.#chunks.length - 1];
    const at = this.#free;
    const length = chunk.write(text, at + 4);
    chunk.writeUInt32LE(length, at);
    this.#free += length + 4;
    this.#room -= length + 4;
    return (this.#chunks.length - 1) * 2 ** 32 + at;
  }

  get(number: number): string {
    const chunk = this.#chunks[Math.floor(number / 2 ** 32)];
    const at = number % 2 ** 32;
    return chunk.toString('utf8', at + 4, at + 4 + chunk.readUInt32LE(at));
  }

  #addChunk(atLeast: number): void {
    const bytes = Math.max(CHUNK_BYTES, atLeast);
    this.#chunks.push(Buffer.allocUnsafeSlow(bytes));
    this.#free = 0;
    this.#room = bytes;
  }
}
