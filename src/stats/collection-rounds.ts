/**
 * Collects statistics from elsewhere before they are read, one round at a time. A reader waits for the first round that
 * begins after it has asked, because a round in progress may have missed what happened shortly before. Readers that ask
 * during a round share the next one.
 */
export class CollectionRounds {
  readonly #hooks: (() => Promise<void>)[] = [];
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  /** Adds a part of each round, which must never reject and must be bounded in time. */
  add(hook: () => Promise<void>): void {
    this.#hooks.push(hook);
  }

  /** Resolves after a round; null if there is nothing to collect. */
  collect(): Promise<void> | null {
    if (this.#hooks.length === 0) return null;
    if (this.#next !== null) return this.#next;
    if (this.#running === null) return this.#start();
    this.#next = this.#running.then(() => {
      this.#next = null;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<void> {
    this.#running = Promise.all(this.#hooks.map(hook => hook())).then(() => {
      this.#running = null;
    });
    return this.#running;
  }
}
