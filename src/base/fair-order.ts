/** Somebody who is served in turns. The fields are kept by the order that it is in. */
export interface Served {
  /** What was done for it so far, beginning with what the others had when it came. */
  served: number;
  /** What it will have been served after its next turn; the least is next. */
  due: number;
  /** Its place among those that are due alike. */
  order: number;
}

/**
 * Says who is next: who will have been served least after that (self-clocked fair queueing). Who asks for little is
 * behind all who ask for more than there is, and so is next as soon as it asks.
 */
export class FairOrder<T extends Served> {
  readonly #credit: number;
  /** A binary heap: the one that is due first. */
  readonly #waiting: T[] = [];
  /** What whoever is served now had when its turn came. */
  #now = 0;
  /** The most that anybody has had. */
  #most = 0;
  #orders = 0;

  /** @param credit how far those who ask for little may stay behind the others */
  constructor(credit: number) {
    this.#credit = credit;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Begins with somebody new, who has no credit: coming back as another must not help. */
  enter(one: T): void {
    one.served = this.#now;
  }

  /** Has somebody wait who is not waiting, for a turn that is expected to take so much. */
  add(one: T, work: number): void {
    this.charge(one, 0);
    one.due = one.served + work;
    one.order = this.#orders++;
    this.#push(one);
  }

  /** Takes out who is next; undefined when nobody waits. */
  next(): T | undefined {
    const one = this.#pop();
    if (one !== undefined) this.#now = Math.max(this.#now, one.served);
    return one;
  }

  /** Something was done for somebody who does not wait just now. */
  charge(one: T, work: number): void {
    one.served = Math.max(one.served, this.#now - this.#credit) + work;
    if (one.served > this.#most) this.#most = one.served;
  }

  /** Nobody waits, so nobody is owed anything any more. */
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
