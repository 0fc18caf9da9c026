import type { Timer } from '../../../src/base/clock.ts';

interface Event {
  readonly atMs: number;
  /** Events of one moment happen in the order in which they were planned. */
  readonly number: number;
  run: (() => void) | null;
}

/** A history with more events has no end. */
const MOST_EVENTS = 2_000_000;

/**
 * The time of a history, and all that is going to happen in it. It moves from event to event, and before the next event
 * everything happens that needs no time.
 */
export class SimulatedTime {
  #nowMs: number;
  #planned = 0;
  /** A heap by time and number. */
  readonly #events: Event[] = [];
  #endless: string | null = null;
  /** How many events have happened. */
  happened = 0;

  readonly #turn: () => Promise<void>;

  /** @param endTurn lets everything happen that needs no time */
  constructor(nowMs: number, endTurn = turn) {
    this.#nowMs = nowMs;
    this.#turn = endTurn;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): Timer {
    const event = { atMs: this.#nowMs + Math.max(0, delayMs), number: this.#planned++, run };
    this.#push(event);
    return {
      cancel: () => {
        event.run = null as never;
      },
    };
  }

  at(atMs: number, run: () => void): Timer {
    return this.after(atMs - this.#nowMs, run);
  }

  /** Something is done again and again: nothing happens after the event in progress. */
  giveUp(reason: string): void {
    this.#endless = reason;
  }

  /** Resolves after this delay. */
  passed(delayMs: number): Promise<void> {
    return new Promise(resolve => this.after(delayMs, resolve));
  }

  /**
   * Lets everything happen until then, or until `enough` says so.
   *
   * @throws (rejects with) EndlessHistory
   */
  async runUntil(untilMs: number, enough: () => boolean = () => false): Promise<void> {
    await this.#turn();
    while (this.#events.length > 0 && this.#events[0].atMs <= untilMs && !enough()) {
      const event = this.#pop();
      if (event.run === null) continue;
      this.#nowMs = Math.max(this.#nowMs, event.atMs);
      if (++this.happened > MOST_EVENTS) this.giveUp(`there were ${MOST_EVENTS} events`);
      event.run();
      await this.#turn();
      if (this.#endless !== null) throw new EndlessHistory(this.#endless);
    }
    if (!enough()) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #push(event: Event): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    for (let up = (at - 1) >> 1; at > 0 && isBefore(event, events[up]); up = (at - 1) >> 1) {
      events[at] = events[up];
      at = up;
    }
    events[at] = event;
  }

  #pop(): Event {
    const events = this.#events;
    const [first] = events;
    const last = events.pop()!;
    if (events.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down + 1 < events.length && isBefore(events[down + 1], events[down])) down++;
      if (down >= events.length || !isBefore(events[down], last)) break;
      events[at] = events[down];
      at = down;
    }
    events[at] = last;
    return first;
  }
}

/** Something is done again and again. */
export class EndlessHistory extends Error {}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.number < other.number);
}

/** So many turns are had in one round of the event loop: a round costs a call of the system. */
const TURNS_A_ROUND = 64;
let waiting: (() => void) | null = null;
let turnsLeft = 0;

/** Lets all promises settle that wait for no event: Node.js does so after each immediate. */
export function turn(): Promise<void> {
  if (turnsLeft === 0) {
    turnsLeft = TURNS_A_ROUND;
    for (let i = 0; i < TURNS_A_ROUND; i++) setImmediate(endTurn);
  }
  return new Promise(resolve => {
    waiting = resolve;
  });
}

function endTurn(): void {
  turnsLeft--;
  const resolve = waiting;
  waiting = null;
  resolve?.();
}
