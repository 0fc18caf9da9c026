import { endTurn } from '../../base/event-loop.ts';
import { FairOrder, type Served } from '../../base/turns/fair-order.ts';

/** A connection whose input is handled in turns. */
export interface TurnTaker extends Served {
  /** Handles input until the work reaches about `maxWork`. Returns the work done. */
  take(maxWork: number): number;
  /** Bytes of input that are not handled yet. */
  readonly inputBytes: number;
}

/**
 * Maximum work (see `LEAST_FRAME_WORK`) per turn of the event loop for input that had to wait: about one to two
 * milliseconds. After that the event loop polls the sockets again.
 */
export const TURN_WORK = 65_536;

/** Minimum work per connection and turn when many connections wait. */
export const LEAST_SHARE = 16_384;

/**
 * Input is handled as soon as it is read, without waiting, while the work in this turn of the event loop is below this.
 */
export const IMMEDIATE_WORK = 131_072;

/**
 * The end of the turn is scheduled only after this much work, so that a quiet connection does not add callbacks to the
 * event loop.
 */
const UNSCHEDULED_WORK = IMMEDIATE_WORK / 4;

/**
 * Shares the thread between connections. Each connection gets one share of work; then the connection with the least
 * work so far is next. While there is little to do, input is handled immediately and never waits here.
 */
export class ConnectionTurns {
  readonly #nextTurn: (run: () => void) => void;
  readonly #order = new FairOrder<TurnTaker>(2 * LEAST_SHARE);
  /** Work done in this turn of the event loop. */
  #spent = 0;
  #isScheduled = false;

  /** @param nextTurn runs a callback after the event loop has polled the sockets: `setImmediate` */
  constructor(nextTurn: (run: () => void) => void) {
    this.#nextTurn = nextTurn;
  }

  /** Number of waiting connections. */
  get waiting(): number {
    return this.#order.size;
  }

  /** Work that may be done immediately for input that was just read; 0 if the input has to wait for its turn. */
  get immediateWork(): number {
    return this.#order.size > 0 ? 0 : Math.max(IMMEDIATE_WORK - this.#spent, 0);
  }

  /** Registers a new connection. */
  enter(taker: TurnTaker): void {
    this.#order.enter(taker);
  }

  /** Records work that was done for a connection without waiting. */
  did(taker: TurnTaker, work: number): void {
    this.#spent += work;
    this.#order.charge(taker, work);
    if (this.#spent >= UNSCHEDULED_WORK) this.#schedule();
  }

  /** Queues a connection that is not waiting yet. */
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
    // Requests of this turn are decided before further input is read.
    endTurn();
  };
}
