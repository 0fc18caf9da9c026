/** A request whose message is not complete, linked to those that began before and after it. */
export interface Unfinished {
  /** Milliseconds since the epoch. */
  beganMs: number;
  older: Unfinished | null;
  newer: Unfinished | null;
}

/**
 * The unfinished requests of a connection, oldest first. Nearly every request is in it for a moment only, so the links
 * are in the requests themselves: a set would cost an allocation for each.
 */
export class UnfinishedRequests<T extends Unfinished> {
  #oldest: T | null = null;
  #newest: T | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The one that began first; null when there is none. */
  get oldest(): T | null {
    return this.#oldest;
  }

  add(request: T): void {
    request.older = this.#newest;
    if (this.#newest === null) this.#oldest = request;
    else this.#newest.newer = request;
    this.#newest = request;
    this.#size++;
  }

  /** Takes out one that is in. */
  remove(request: T): void {
    const older = request.older as T | null;
    const newer = request.newer as T | null;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    request.older = null;
    request.newer = null;
    this.#size--;
  }
}
