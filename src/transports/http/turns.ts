/*
 * Work is counted, not timed, so that a turn is the same on every machine. One unit is about five nanoseconds of a
 * server's core, by what requests cost from their arrival to their answer.
 */

/** Work of a request, without its body. */
export const REQUEST_WORK = 2_048;

/** Work per byte of a complete body: the cost of a body full of descriptors. A body of long strings costs less. */
const WORK_A_BYTE = 8;

/** Work of a piece of a body, and the number of bytes copied per unit of work. */
const PIECE_WORK = 128;
const COPIED_BYTES_A_UNIT = 8;

/** Maximum work per turn of the event loop, about five milliseconds. Further work waits for the next turn. */
export const TURN_WORK = 1_048_576;

/**
 * The end of the turn is scheduled only after this much work, so that a quiet port does not add callbacks to the event
 * loop.
 */
const UNTOLD_WORK = TURN_WORK / 8;

/** Work of a complete body. */
export function bodyWork(bytes: number): number {
  return bytes * WORK_A_BYTE;
}

/** Work of a piece of an incomplete body. */
export function pieceWork(bytes: number): number {
  return PIECE_WORK + bytes / COPIED_BYTES_A_UNIT;
}

/** Work of the next read of an incomplete body, assuming the maximum that one read can return. */
export const READ_WORK = pieceWork(512 * 1024);

/** Maximum number of requests that wait for a turn. */
export const MAX_WAITING = 20_000;

/** Requests up to this much work are small. Larger requests are handled after all small ones. */
const SMALL_WORK = 65_536;

/** The least work of a large request. */
export const LARGE_WORK = SMALL_WORK + 1;

interface Waiting {
  readonly work: number;
  readonly run: () => void;
}

/**
 * Shares the thread between the requests of a port. While there is little to do in a turn of the event loop, requests
 * are handled as they arrive. After {@link TURN_WORK}, further requests wait, and the event loop polls all sockets
 * again. Then the small requests are next, in the order of their arrival, followed by at least one large request. A
 * small request therefore waits for at most one large request, however many there are.
 */
export class Turns {
  readonly #nextTurn: (run: () => void) => void;
  readonly #small = new Fifo<Waiting>();
  readonly #large = new Fifo<Waiting>();
  #spent = 0;
  #isScheduled = false;

  /** @param nextTurn runs a callback after the event loop has polled the sockets */
  constructor(nextTurn: (run: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** Whether this turn has time left for `work`. False if requests are waiting already. */
  has(work: number): boolean {
    if (this.waiting > 0) return false;
    return work <= SMALL_WORK ? this.#spent < TURN_WORK : this.#spent + work <= TURN_WORK;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#small.length + this.#large.length;
  }

  /** Records work that is done without waiting. */
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
    // Work done for waiting requests reduces the time that the next turn has for new requests.
    if (this.waiting > 0 || this.#spent >= UNTOLD_WORK) this.#schedule();
  };

  #take(queue: Fifo<Waiting>): void {
    const { work, run } = queue.shift() as Waiting;
    this.#spent += work;
    run();
  }
}

/** Maximum number of removed items that a queue keeps at its front. */
const LEAST_SLICE = 256;

/** A queue that removes items from its front in nearly constant time. */
class Fifo<T> {
  #items: T[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** Call only if the queue is not empty. */
  get first(): T {
    return this.#items[this.#first];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first++];
    // Slicing also releases removed items to the garbage collector.
    if (this.#first >= LEAST_SLICE || this.#first === this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
