const CHUNK = 4_096;

/** A list of numbers that grows by chunks, so that no push ever copies what is there. */
export class GrowingNumbers {
  readonly #chunks: Float64Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length % CHUNK === 0) this.#chunks.push(new Float64Array(CHUNK));
    this.set(this.#length++, value);
  }

  get(at: number): number {
    return this.#chunks[Math.floor(at / CHUNK)][at % CHUNK];
  }

  set(at: number, value: number): void {
    this.#chunks[Math.floor(at / CHUNK)][at % CHUNK] = value;
  }
}
