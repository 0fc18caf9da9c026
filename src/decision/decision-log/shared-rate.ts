/** Words of the memory: the current second, and the events that were admitted in it. */
const SECOND = 0;
const ADMITTED = 1;

/** Batches of different threads may be this late. If a second is further behind, the clock was set back. */
const LATE_S = 60;

/** Limits how many events per second are admitted, in all threads together. */
export class SharedRate {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #max: number;

  /**
   * @param memory from {@link SharedRate.memory}
   * @param max maximum number of events per second
   */
  constructor(memory: SharedArrayBuffer, max: number) {
    this.#words = new Int32Array(memory);
    this.#max = max;
  }

  /** Creates the memory, which the threads share. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  }

  /**
   * Whether an event may happen.
   *
   * @param nowS seconds since the epoch
   */
  admit(nowS: number): boolean {
    const words = this.#words;
    const second = nowS | 0;
    const known = Atomics.load(words, SECOND);
    const ahead = (second - known) | 0;
    if (ahead > 0 || ahead < -LATE_S) {
      // Of several threads that see the new second, one clears the count.
      if (Atomics.compareExchange(words, SECOND, known, second) === known) Atomics.store(words, ADMITTED, 0);
    } else if (Atomics.load(words, ADMITTED) >= this.#max) return false;
    return Atomics.add(words, ADMITTED, 1) < this.#max;
  }
}
