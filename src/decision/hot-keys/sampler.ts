/** Samples that a thread takes in a second, on average. */
const SAMPLES_PER_SECOND = 4_000;

/**
 * Chooses which descriptors a thread counts: all of them if there are few, and a random one of every `interval` if there
 * are many, so that a thread never counts many more than {@link SAMPLES_PER_SECOND}. Each descriptor is chosen
 * independently with the probability `1 / interval`, so its hits times `interval` are an unbiased estimate, with a variance
 * of `hits² × (interval - 1)` for each descriptor.
 */
export class Sampler {
  /** The chosen descriptors stand for this number of descriptors each. */
  interval = 1;
  readonly #random: () => number;
  /** Descriptors before the next one that is chosen. */
  #skip = 0;
  #second = 0;
  #seen = 0;
  #taken = 0;
  /** With this number of samples in a second, the interval doubles. */
  #most = SAMPLES_PER_SECOND;

  /** @param random returns a random number, 0 inclusive to 1 exclusive */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Call before each batch of `rows` descriptors. Returns the first one that is chosen, `rows` or more for none. */
  begin(rows: number, nowS: number): number {
    if (nowS !== this.#second) this.#nextSecond(nowS);
    this.#seen += rows;
    return this.#skip;
  }

  /** The descriptor that is chosen after `row`. */
  after(row: number): number {
    if (++this.#taken >= this.#most) {
      this.#most += SAMPLES_PER_SECOND >> 1;
      this.interval *= 2;
    }
    return row + 1 + this.#gap();
  }

  /** Call after each batch, with the next chosen descriptor, which is not in the batch. */
  end(rows: number, next: number): void {
    this.#skip = next - rows;
  }

  #nextSecond(nowS: number): void {
    const seconds = Math.max(nowS - this.#second, 1);
    const needed = Math.ceil(this.#seen / seconds / SAMPLES_PER_SECOND);
    // After a pause, the load may be the same again.
    const interval = Math.max(needed, Math.floor(this.interval / 2), 1);
    this.#second = nowS;
    this.#seen = 0;
    this.#taken = 0;
    this.#most = SAMPLES_PER_SECOND;
    if (interval === this.interval) return;
    this.interval = interval;
    // The distance to the next chosen descriptor has no memory, so it may be drawn again at any time.
    this.#skip = this.#gap();
  }

  /** A geometrically distributed number of descriptors that are not chosen. */
  #gap(): number {
    if (this.interval === 1) return 0;
    return Math.floor(Math.log(1 - this.#random()) / Math.log1p(-1 / this.interval));
  }
}
