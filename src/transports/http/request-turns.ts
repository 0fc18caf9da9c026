import { atTurnEnd, type EventLoop, endTurn, THREAD_LOOP } from '../../base/event-loop.ts';
import { FairOrder, type Served } from '../../base/turns/fair-order.ts';

/*
 * Work is counted. One unit is about five nanoseconds of a server's core, by what requests cost from their arrival to
 * their answer. Under load the clock is read as well, because some requests cost more than is counted for them.
 */

/** Work of a request, without its body. */
export const REQUEST_WORK = 2_048;

/** Work per byte of a complete body: the cost of a body full of descriptors. A body of long strings costs less. */
const WORK_A_BYTE = 8;

/** Work of a piece of a body, and the number of bytes copied per unit of work. */
const PIECE_WORK = 128;
const COPIED_BYTES_A_UNIT = 8;

/**
 * Maximum work per turn of the event loop for requests that are handled as they arrive, about five milliseconds.
 * Further requests wait.
 */
export const TURN_WORK = 1_048_576;

/** Maximum time for the same, because some requests cost more than their work says. */
const ARRIVING_MS = 10;

/** Time per turn for requests that have waited. Then the event loop polls the sockets again. */
const WAITED_MS = 2;

/** A request that takes longer is followed by as much time without large requests. */
const LONG_MS = 5;

/**
 * The end of the turn is scheduled only after this much work, so that a quiet port does not add callbacks to the event
 * loop.
 */
const UNSCHEDULED_WORK = TURN_WORK / 8;

/**
 * The clock ends no turn with less work. Otherwise turns would become very short on a machine on which other processes
 * use the core, and each turn costs something.
 */
const MIN_TIMED_WORK = TURN_WORK / 2;

/** Within a turn, the clock is read again after this much work. */
const CLOCK_READ_WORK = TURN_WORK / 64;

/** Work of a complete body. */
export function bodyWork(bytes: number): number {
  return bytes * WORK_A_BYTE;
}

/** Work of a piece of an incomplete body. */
export function pieceWork(bytes: number): number {
  return PIECE_WORK + bytes / COPIED_BYTES_A_UNIT;
}

/** Work of the next read of an incomplete body. uWebSockets.js reads 512 KiB at a time, as often as there is more. */
export const READ_WORK = pieceWork(2 * 1_048_576);

/** Maximum number of requests that wait for a turn. */
export const MAX_WAITING = 20_000;

/** Requests up to this much work are small. Larger requests are handled after all small ones. */
const SMALL_WORK = 65_536;

/** The least work of a large request. */
export const LARGE_WORK = SMALL_WORK + 1;

/** Work of a new connection. */
export const CONNECTION_WORK = 4_096;

/**
 * Work of the first read of a connection that had to wait for it. It is that of a large request: connections that are
 * closed for what they send, and opened again, cost the most by their first read.
 */
export const FIRST_READ_WORK = TURN_WORK / 4;

/** Further work of a request that is refused for its body: making the error message. */
export const FAULT_WORK = REQUEST_WORK;

/** How much work a connection that asks for little may be behind the others. */
const CREDIT = 65_536;

/** Work that was done for a connection. Only the turns write it. */
export class Account implements Served {
  served = 0;
  due = 0;
  order = 0;
}

class WaitingRequest extends Account {
  readonly work: number;
  readonly run: () => void;

  constructor(work: number, run: () => void) {
    super();
    this.work = work;
    this.run = run;
  }
}

/**
 * Shares the thread between the connections of a port. While there is little to do in a turn of the event loop,
 * requests are handled as they arrive. After {@link TURN_WORK} or {@link ARRIVING_MS}, further requests wait, and the
 * event loop polls all sockets again. Then the small requests are next, followed by at least one large request. A small
 * request therefore waits for at most one large request, however many there are.
 *
 * Among the requests that wait, the one is next whose connection has the least work done for it, including the work of
 * the request ({@link FairOrder}). Nothing more is read from a connection while a request of it waits, so a connection
 * has one place among them, even if the engine does not know which connection a request is from (no account).
 *
 * A large request that takes long is followed by as much time without large requests. Otherwise callers with small
 * requests would wait for one large request after the other.
 */
export class RequestTurns {
  readonly #loop: EventLoop;
  readonly #small = new FairOrder<WaitingRequest>(CREDIT);
  readonly #large = new FairOrder<WaitingRequest>(CREDIT);
  #spent = 0;
  #isScheduled = false;
  /** When the time for arriving requests ends. Only valid while the end of the turn is scheduled. */
  #endsMs = 0;
  #isLate = false;
  /** The clock is read when `#spent` has reached this. */
  #timedWork = UNSCHEDULED_WORK;
  /** No large request is handled for now. */
  #isResting = false;

  constructor(loop: EventLoop = THREAD_LOOP) {
    this.#loop = loop;
  }

  /** Whether this turn has time left for `work`. False if requests are waiting that come first. */
  has(work: number): boolean {
    if (this.#small.size > 0 || this.#isLate) return false;
    if (work <= SMALL_WORK) return this.#spent < TURN_WORK;
    return this.#large.size === 0 && this.#spent + work <= TURN_WORK;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#small.size + this.#large.size;
  }

  /** Records work that is done without waiting. */
  spend(work: number, account: Account | null = null): void {
    if (account !== null) this.#small.charge(account, work);
    this.#spent += work;
    if (this.#spent < this.#timedWork) return;
    this.#timedWork = this.#spent + (this.#isScheduled ? CLOCK_READ_WORK : MIN_TIMED_WORK);
    if (this.#isScheduled) this.#isLate = this.#loop.nowMs() >= this.#endsMs;
    else this.#schedule();
  }

  /** Runs `run`, which costs `work`, in a later turn. */
  wait(work: number, run: () => void, account: Account | null = null): void {
    const order = work <= SMALL_WORK ? this.#small : this.#large;
    const one = new WaitingRequest(work, run);
    if (account === null) {
      order.enter(one);
      one.served += work;
    } else {
      order.charge(account, work);
      one.served = account.served;
    }
    order.add(one, 0);
    if (order === this.#small || !this.#isResting) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#endsMs = this.#loop.nowMs() + ARRIVING_MS;
    this.#loop.nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    const { nowMs } = this.#loop;
    this.#isScheduled = false;
    this.#isLate = false;
    this.#spent = 0;
    this.#timedWork = UNSCHEDULED_WORK;
    if (this.#small.size === 0 && (this.#large.size === 0 || this.#isResting)) return;
    const endsMs = nowMs() + WAITED_MS;
    for (let next = this.#small.next(); next !== undefined; next = this.#small.next()) {
      this.#take(next);
      if (this.#spent >= MIN_TIMED_WORK && (this.#spent >= TURN_WORK || nowMs() >= endsMs)) break;
    }
    if (this.#large.size > 0 && !this.#isResting) this.#takeLarge(endsMs);
    if (this.#small.size > 0 || (this.#large.size > 0 && !this.#isResting)) this.#schedule();
    endTurn();
  };

  /** Handles at least one large request. */
  #takeLarge(endsMs: number): void {
    const { nowMs } = this.#loop;
    const beganMs = nowMs();
    do this.#take(this.#large.next() as WaitingRequest);
    while (this.#large.size > 0 && this.#spent < TURN_WORK && nowMs() < endsMs);
    // After the decisions of this turn.
    atTurnEnd(() => {
      const tookMs = nowMs() - beganMs;
      if (tookMs > LONG_MS) this.#rest(tookMs);
    });
  }

  #take({ work, run }: WaitingRequest): void {
    this.#spent += work;
    run();
  }

  #rest(ms: number): void {
    this.#isResting = true;
    this.#loop.after(ms, () => {
      this.#isResting = false;
      if (this.#large.size > 0) this.#schedule();
    });
  }
}
