/**
 * What one thread finds out about servers for all threads of the process, for example which server is the master. The
 * other threads follow it, so that servers are not asked by each thread.
 */
export class Finding<T> {
  /** True in the thread that asks the servers. */
  readonly isFoundHere: boolean;
  readonly #followers = new Set<(found: T) => void>();
  #latest: T | null = null;
  #lookAgain: () => void = () => {};

  constructor(isFoundHere: boolean) {
    this.isFoundHere = isFoundHere;
  }

  /** Null if nothing was found yet. */
  get latest(): T | null {
    return this.#latest;
  }

  /** Passes on what was found, also if it is the same as before. */
  set(found: T): void {
    this.#latest = found;
    for (const follower of this.#followers) follower(found);
  }

  /**
   * Calls the follower with what is known, and with everything that is found later.
   * @returns ends this
   */
  follow(follower: (found: T) => void): () => void {
    this.#followers.add(follower);
    if (this.#latest !== null) follower(this.#latest);
    return () => this.#followers.delete(follower);
  }

  /** Asks the thread that looks it up to do so now, because it may have changed. */
  lookAgain(): void {
    this.#lookAgain();
  }

  /** Sets what {@link lookAgain} calls. */
  onLookAgain(look: () => void): void {
    this.#lookAgain = look;
  }
}
