import { type Clock, SECOND_MS } from '../../../base/clock.ts';

/** A result is used for at least this long, and for {@link USED_TIMES} as long as it took to read. */
const LEAST_USE_MS = SECOND_MS;
const USED_TIMES = 20;
/** How long a caller waits for a newer result before it gets the previous one. */
const PATIENCE_MS = 3 * SECOND_MS;

/**
 * The result of a reading that is dear. It is read only when somebody asks, once for all who ask, and seldom enough that
 * this takes at most a twentieth of the time.
 */
export class SeldomRead<T> {
  readonly #read: () => Promise<T>;
  readonly #clock: Clock;
  #last: T | null = null;
  #usedUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<T> | null = null;
  #changes = 0;

  constructor(read: () => Promise<T>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /**
   * Null if nothing was read before, and the reading takes too long.
   * @throws (rejects with) whatever the reading rejects with
   */
  async get(): Promise<T | null> {
    const clock = this.#clock;
    if (this.#last !== null && clock.nowMs() < this.#usedUntilMs) return this.#last;
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null;
    });
    const waiting = Promise.withResolvers<T | null>();
    const timer = clock.after(PATIENCE_MS, () => waiting.resolve(this.#last));
    this.#reading.then(waiting.resolve, waiting.reject);
    return await waiting.promise.finally(() => timer.cancel());
  }

  async #readNow(): Promise<T> {
    const atMs = this.#clock.nowMs();
    const changes = this.#changes;
    const result = await this.#read();
    this.#last = result;
    const nowMs = this.#clock.nowMs();
    // What was changed in the meantime may have been read before its change.
    if (changes === this.#changes)
      this.#usedUntilMs = nowMs + Math.max(LEAST_USE_MS, USED_TIMES * (nowMs - atMs));
    return result;
  }

  /**
   * The next caller gets a newer result, because something was changed. If it is being read now, the caller after that
   * does, so that nothing is read twice at the same time.
   */
  changed(): void {
    this.#changes++;
    this.#usedUntilMs = Number.NEGATIVE_INFINITY;
  }
}
