import { threadId } from 'node:worker_threads';

/**
 * Locks in shared memory, one word each. A lock without competition costs one compare-and-exchange, and so does its
 * release. A thread that does not get a lock spins, then marks the word and sleeps. The release of a marked lock wakes
 * one thread.
 *
 * A word is 0 if the lock is free, `id` if the thread with this id minus one holds it, and `-id` if other threads may
 * sleep meanwhile.
 *
 * Woken threads compete with threads that are running, which may be faster. The lock stays in use that way, instead of
 * being reserved for a thread that the kernel has yet to start.
 */
export class Locks {
  readonly #words: Int32Array;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  /**
   * Takes a lock. A thread that holds a lock for a second was terminated while holding it. Normally
   * {@link releaseLocksOf} releases its locks, but the thread that should call it may be waiting here. Therefore one of
   * the waiting threads takes the lock over.
   */
  lock(at: number): void {
    if (Atomics.compareExchange(this.#words, at, 0, HOLDER) !== 0) this.#compete(at);
  }

  /** Releases a lock. Does nothing if another thread has taken it over. */
  unlock(at: number): void {
    if (Atomics.compareExchange(this.#words, at, HOLDER, 0) < 0) this.#release(at, -HOLDER);
  }

  /** Releases all locks that a thread held when it was terminated. */
  releaseLocksOf(thread: number): void {
    for (let at = 0; at < this.#words.length; at++) {
      this.#release(at, thread + 1);
      this.#release(at, -thread - 1);
    }
  }

  /** Releases a lock if its word is `held`, and wakes a thread if any may sleep. */
  #release(at: number, held: number): void {
    if (Atomics.compareExchange(this.#words, at, held, 0) === held && held < 0) {
      Atomics.notify(this.#words, at, 1);
    }
  }

  /** Spins, then sleeps until the lock is free. */
  #compete(at: number): void {
    if (this.#spin(at, HOLDER)) return;
    let holder = 0;
    let waitedMs = 0;
    do {
      const marked = this.#mark(at);
      if (marked === 0) continue;
      if (marked !== holder) waitedMs = 0;
      holder = marked;
      const isAbandoned = waitedMs >= TAKE_OVER_MS;
      if (isAbandoned && Atomics.compareExchange(this.#words, at, marked, -HOLDER) === marked) return;
      // The wait is short because the thread that was woken may have been terminated before it ran.
      const hasTimedOut = Atomics.wait(this.#words, at, marked, STEP_MS) === 'timed-out';
      waitedMs = hasTimedOut ? waitedMs + STEP_MS : 0;
      // Other threads may still sleep, so a thread that slept takes the lock with the mark.
    } while (!this.#spin(at, -HOLDER));
  }

  /** Tries for some microseconds to take a lock with this word: most locks are released sooner. */
  #spin(at: number, word: number): boolean {
    for (let spin = 0; spin < SPINS; spin++) {
      if (Atomics.compareExchange(this.#words, at, 0, word) === 0) return true;
    }
    return false;
  }

  /** Marks a lock, so that its release wakes a thread. Returns the marked word; 0 if the lock was just released. */
  #mark(at: number): number {
    const found = Atomics.load(this.#words, at);
    if (found <= 0) return found;
    return Atomics.compareExchange(this.#words, at, found, -found) === found ? -found : 0;
  }
}

/** The lock word while this thread holds a lock and no other thread sleeps. */
const HOLDER = threadId + 1;
const SPINS = 200;
/** The longest sleep without a wake-up. */
const STEP_MS = 1;
const TAKE_OVER_MS = 1_000;
