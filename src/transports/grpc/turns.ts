import { FairOrder, type Served } from '../../base/fair-order.ts';

/** Someone whose input is handled in turns. */
export interface TurnTaker extends Served {
  /** Handles input until it has cost about `maxWork`; returns what it has cost. */
  take(maxWork: number): number;
  /** Bytes of input that are left. */
  readonly inputBytes: number;
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

/** Work after which the end of the turn is looked for; where little happens the event loop is left alone. */
const UNTOLD_WORK = UNTURNED_WORK / 4;

/**
 * Shares the thread between connections: a connection has one share, then the one that has had the least is next. As
 * long as there is little to do, input does not get here at all.
 */
export class Turns {
  readonly #nextTurn: (run: () => void) => void;
  readonly #order = new FairOrder<TurnTaker>(2 * LEAST_SHARE);
  /** Work of this turn of the event loop. */
  #spent = 0;
  #isScheduled = false;

  /** @param nextTurn runs something once the event loop has looked at the sockets: `setImmediate` */
  constructor(nextTurn: (run: () => void) => void) {
    this.#nextTurn = nextTurn;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#order.size;
  }

  /** Work that may be done at once for input that was just read; 0 when it has to wait for its turn. */
  get unturned(): number {
    return this.#order.size > 0 ? 0 : Math.max(UNTURNED_WORK - this.#spent, 0);
  }

  /** Begins with somebody new. */
  enter(taker: TurnTaker): void {
    this.#order.enter(taker);
  }

  /** Work was done for somebody who did not wait. */
  did(taker: TurnTaker, work: number): void {
    this.#spent += work;
    this.#order.charge(taker, work);
    if (this.#spent >= UNTOLD_WORK) this.#schedule();
  }

  /** Has somebody wait who is not waiting. */
  add(taker: TurnTaker): void {
    this.#wait(taker);
    this.#schedule();
  }

  #wait(taker: TurnTaker): void {
    this.#order.add(taker, Math.min(taker.inputBytes, LEAST_SHARE));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    const order = this.#order;
    this.#isScheduled = false;
    this.#spent = 0;
    const share = Math.max(TURN_WORK / Math.max(order.size, 1), LEAST_SHARE);
    for (let work = 0; work < TURN_WORK; ) {
      const taker = order.next();
      if (taker === undefined) break;
      const cost = taker.take(share);
      work += cost;
      order.charge(taker, cost);
      if (taker.inputBytes > 0) this.#wait(taker);
    }
    if (order.size > 0) this.#schedule();
    else order.settle();
  };
}
