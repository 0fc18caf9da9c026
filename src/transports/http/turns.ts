/*
 * Work is counted, not timed, so that a turn is the same on every machine. One unit is about five nanoseconds of a
 * server's core, by what requests cost from their arrival to their answer.
 */

/** Work of a request, beside that of its body. */
export const REQUEST_WORK = 2_048;

/** Work of a byte of a whole body: much for one that is full of descriptors, little for one of long texts. */
const WORK_A_BYTE = 8;

/** Work of a piece of a body, and how many bytes are copied for one unit. */
const PIECE_WORK = 128;
const COPIED_BYTES_A_UNIT = 8;

/** Work of one turn of the event loop, after which everything else waits for the next one: about five milliseconds. */
export const TURN_WORK = 1_048_576;

/** Work that {@link Turns} are not told of at once, to leave the event loop alone where little happens. */
const UNTOLD_WORK = TURN_WORK / 8;

/** Work of a whole body. */
export function bodyWork(bytes: number): number {
  return bytes * WORK_A_BYTE;
}

/** Work of a piece of a body that is not complete. */
export function pieceWork(bytes: number): number {
  return PIECE_WORK + bytes / COPIED_BYTES_A_UNIT;
}

/** Work of the next read of a body that is not complete: as much as a socket may bring. */
export const READ_WORK = pieceWork(512 * 1024);

/** Requests that may wait for a turn. */
export const MAX_WAITING = 20_000;

/** What costs more than this comes after everything that costs less. */
const SMALL_WORK = 65_536;

/** The least work that comes after everything small. */
export const LARGE_WORK = SMALL_WORK + 1;

interface Waiting {
  readonly work: number;
  readonly run: () => void;
}

/**
 * Shares the thread between the requests of a port. While a turn of the event loop brings little to do, a request is
 * handled as it arrives. Once it has brought {@link TURN_WORK}, further requests wait, and the event loop looks at all
 * sockets again: those with little to do are next, in the order of their arrival, and one with much to do after them. So a
 * small request waits for one large one at most, however many there are.
 */
export class Turns {
  readonly #nextTurn: (run: () => void) => void;
  readonly #small = new Fifo<Waiting>();
  readonly #large = new Fifo<Waiting>();
  #spent = 0;
  #isScheduled = false;

  /** @param nextTurn runs something once the event loop has looked at the sockets */
  constructor(nextTurn: (run: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** There is time left in this turn for so much work, and nobody waits for it. */
  has(work: number): boolean {
    if (this.waiting > 0) return false;
    return work <= SMALL_WORK ? this.#spent < TURN_WORK : this.#spent + work <= TURN_WORK;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#small.length + this.#large.length;
  }

  /** Work is done for somebody who has not waited. */
  spend(work: number): void {
    this.#spent += work;
    if (this.#spent >= UNTOLD_WORK) this.#schedule();
  }

  /** Runs `run`, which costs `work`, in a later turn. */
  wait(work: number, run: () => void): void {
    (work <= SMALL_WORK ? this.#small : this.#large).push({ work, run });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#spent = 0;
    while (this.#spent < TURN_WORK && this.#small.length > 0) this.#take(this.#small);
    if (this.#large.length > 0) this.#take(this.#large);
    while (this.#large.length > 0 && this.#spent + this.#large.first.work <= TURN_WORK)
      this.#take(this.#large);
    // What was done for those who waited leaves less of the next turn to those who do not.
    if (this.waiting > 0 || this.#spent >= UNTOLD_WORK) this.#schedule();
  };

  #take(queue: Fifo<Waiting>): void {
    const { work, run } = queue.shift() as Waiting;
    this.#spent += work;
    run();
  }
}

/** Items that a queue keeps in front of its first one, at most. */
const LEAST_SLICE = 256;

/** A queue whose front is taken in nearly constant time. */
class Fifo<T> {
  #items: T[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** Only while there is one. */
  get first(): T {
    return this.#items[this.#first];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first++];
    // Also so that what has left the queue can be collected.
    if (this.#first >= LEAST_SLICE || this.#first === this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
