/** Someone whose input is handled in turns. */
export interface TurnTaker {
  /** Work done for it so far, on the scale of {@link Turns}; kept by those. */
  served: number;
  /** Its place among those that have as much, and in the heap; kept by the turns. */
  order: number;
  /** Handles input until it has cost about `maxWork`; returns what it has cost. */
  take(maxWork: number): number;
  /** Whether there is input left. */
  readonly hasInput: boolean;
}

/**
 * Work (see `LEAST_FRAME_WORK`) that one turn of the event loop does for input that has had to wait: a millisecond or
 * two. Only then are the sockets looked at again.
 */
export const TURN_WORK = 65_536;

/** What one connection gets of it, at least, when many wait. */
export const LEAST_SHARE = 16_384;

/** Input is handled as soon as it is read, without waiting for a turn, while a turn of the event loop brings less. */
export const UNTURNED_WORK = 131_072;

/** Work that {@link Turns} are not told of at once, to leave the event loop alone where little happens. */
const UNTOLD_WORK = UNTURNED_WORK / 4;

/** How far those who ask little may stay behind the others, and so come first when they ask. */
const CREDIT = 2 * LEAST_SHARE;

/**
 * Shares the thread between connections: a connection has one share, then whoever has had the least is next (start-time
 * fair queueing). Who asks little is behind all who ask for more than there is, so its input is the next that is handled.
 *
 * As long as there is little to do, input does not get here at all.
 */
export class Turns {
  readonly #nextTurn: (run: () => void) => void;
  /** A binary heap: who was served least comes first. */
  readonly #waiting: TurnTaker[] = [];
  /** What whoever is served now had when its turn came. */
  #now = 0;
  /** The most that anybody has had. */
  #most = 0;
  #orders = 0;
  /** Work of this turn of the event loop. */
  #spent = 0;
  #isScheduled = false;

  /** @param nextTurn runs something once the event loop has looked at the sockets: `setImmediate` */
  constructor(nextTurn: (run: () => void) => void) {
    this.#nextTurn = nextTurn;
  }

  /** Begins with somebody new, who has no credit: coming back as another must not help. */
  enter(taker: TurnTaker): void {
    taker.served = this.#now;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Work that may be done at once for input that was just read; 0 when it has to wait for its turn. */
  get unturned(): number {
    return this.#waiting.length > 0 ? 0 : Math.max(UNTURNED_WORK - this.#spent, 0);
  }

  /** Work was done for somebody who did not wait. */
  did(taker: TurnTaker, work: number): void {
    this.#spent += work;
    this.#charge(taker, work);
    if (this.#spent >= UNTOLD_WORK) this.#schedule();
  }

  /** Has somebody wait who is not waiting. */
  add(taker: TurnTaker): void {
    this.#charge(taker, 0);
    taker.order = this.#orders++;
    this.#push(taker);
    this.#schedule();
  }

  #charge(taker: TurnTaker, work: number): void {
    taker.served = Math.max(taker.served, this.#now - CREDIT) + work;
    if (taker.served > this.#most) this.#most = taker.served;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#spent = 0;
    const share = Math.max(TURN_WORK / Math.max(this.#waiting.length, 1), LEAST_SHARE);
    for (let work = 0; work < TURN_WORK; ) {
      const taker = this.#pop();
      if (taker === undefined) break;
      this.#now = Math.max(this.#now, taker.served);
      const cost = taker.take(share);
      work += cost;
      this.#charge(taker, cost);
      if (taker.hasInput) this.add(taker);
    }
    if (this.#waiting.length > 0) this.#schedule();
    // Nobody is owed anything any more.
    else this.#now = this.#most;
  };

  #push(taker: TurnTaker): void {
    const heap = this.#waiting;
    let at = heap.length;
    heap.push(taker);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(taker, heap[above])) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = taker;
  }

  #pop(): TurnTaker | undefined {
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

function isBefore(one: TurnTaker, other: TurnTaker): boolean {
  return one.served === other.served ? one.order < other.order : one.served < other.served;
}
