/** A client of a {@link FairOrder}. Only the order writes these fields. */
export interface Served {
  /** Work done for this client so far. A new client starts with the present value of the others, not with 0. */
  served: number;
  /**
   * The value of `served` after the client's next turn, as estimated by `add`. The client with the lowest value is
   * next.
   */
  due: number;
  /** Sequence number of the turn. It decides between clients with equal `due`. */
  order: number;
}

/**
 * Chooses the client to serve next: the one with the lowest amount of work after its next turn (self-clocked fair
 * queueing). A client that asks for little has less recorded work than clients that ask for more than the server can
 * do, so it is served as soon as it asks.
 */
export class FairOrder<T extends Served> {
  readonly #credit: number;
  /** Binary heap of the waiting clients; the one with the lowest `due` comes first. */
  readonly #waiting: T[] = [];
  /** Value of `served` of the client whose turn it is, when its turn began. */
  #now = 0;
  /** Highest value of `served` of all clients. */
  #most = 0;
  #orders = 0;

  /** @param credit how much work a client that asks for little may be behind the others */
  constructor(credit: number) {
    this.#credit = credit;
  }

  /** Number of waiting clients. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Registers a new client. It has no credit, so reconnecting as a new client gains nothing. */
  enter(one: Served): void {
    one.served = this.#now;
  }

  /** Queues a client that is not waiting yet. `work` is the estimated work of its turn. */
  add(one: T, work: number): void {
    this.charge(one, 0);
    one.due = one.served + work;
    one.order = this.#orders++;
    this.#push(one);
  }

  /** Removes and returns the next client; undefined if no client is waiting. */
  next(): T | undefined {
    const one = this.#pop();
    if (one !== undefined) this.#now = Math.max(this.#now, one.served);
    return one;
  }

  /** Records work that was done for a client that is not waiting. */
  charge(one: Served, work: number): void {
    one.served = Math.max(one.served, this.#now - this.#credit) + work;
    if (one.served > this.#most) this.#most = one.served;
  }

  /** Resets the reference point when no client is waiting, so that no client keeps credit from the past. */
  settle(): void {
    this.#now = this.#most;
  }

  #push(one: T): void {
    const heap = this.#waiting;
    let at = heap.length;
    heap.push(one);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(one, heap[above])) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = one;
  }

  #pop(): T | undefined {
    const heap = this.#waiting;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || last === first) return last;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1], heap[below])) below++;
      if (!isBefore(heap[below], last)) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Served, other: Served): boolean {
  return one.due === other.due ? one.order < other.order : one.due < other.due;
}
