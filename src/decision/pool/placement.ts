/** What a {@link Placement} knows the machine by. */
interface PlacementParts {
  /** A clock that never steps back, in milliseconds with fractions. */
  readonly nowMs: () => number;
  /** The part of the time, 0 to 1, that this thread was busy since it was asked last. */
  readonly busyShare: () => number;
}

/** Below this a hop to another thread costs more than the work, whatever was measured. */
const LEAST_REQUESTS = 8;

/** How long rates are measured before they are looked at. */
const SPAN_MS = 100;

/** After a pause of this many spans what was measured says nothing any more. */
const PAUSE_SPANS = 5;

/** This thread has no time left: what else would be done by another one is a gain. */
const SATURATED = 0.9;

/** With less than this to do, all of it here, there is no gain in other threads. */
const UNBURDENED = 0.6;

/** What the pool must bring to be kept, as a part of the rate without it: below it may be chance. */
const WORTHWHILE = 1.05;

/** Waits between two trials of what is not in use. They double while trials bring nothing. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** How much a new figure moves an average. */
const WEIGHT = 0.1;

/**
 * Says where batches are decided: here, or in the threads of the pool.
 *
 * Deciding here costs least and answers soonest, so it is the rule. The pool is for a thread that has no time left while
 * other cores have some. Whether they have cannot be asked (containers share cores, callers and stores run on the same
 * ones), so it is tried: when this thread is saturated, for a moment large batches go to the pool, and they stay there
 * when more requests are answered that way. Now and then the other way is tried again.
 *
 * How large is large follows from what was measured: what a request costs here, and what handing over a batch costs.
 */
export class Placement {
  readonly #parts: PlacementParts;
  /** Milliseconds of this thread: to decide a request here, to give a batch away, to hand over one of its answers. */
  #inlineMs = 0.002;
  #dispatchMs = 0.03;
  #handOverMs = 0.000_5;

  #pooling = false;
  /** The rate of the way before, while another one is tried. */
  #comparedRate = 0;
  #trying = false;
  /** The first span after a change still holds what was begun before. */
  #settling = false;
  #answered = 0;
  #spanBeganMs: number;
  #nextTrialMs: number;
  #waitMs = FIRST_WAIT_MS;

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    this.#spanBeganMs = parts.nowMs();
    this.#nextTrialMs = this.#spanBeganMs;
  }

  /** True while large batches go to the pool. */
  get pooling(): boolean {
    return this.#pooling;
  }

  /** Whether a batch of so many requests is for the pool, when that has room. */
  isForPool(requests: number): boolean {
    if (requests < LEAST_REQUESTS) return false;
    const nowMs = this.#parts.nowMs();
    if (nowMs - this.#spanBeganMs >= SPAN_MS) this.#endSpan(nowMs);
    return this.#pooling && requests * (this.#inlineMs - this.#handOverMs) > this.#dispatchMs;
  }

  /** A batch was decided here, which took this thread so long. */
  decidedHere(requests: number, spentMs: number): void {
    this.#answered += requests;
    if (requests >= LEAST_REQUESTS) this.#inlineMs = average(this.#inlineMs, spentMs / requests);
  }

  /** A batch was decided by the pool: what giving it away and handing over its answers took this thread. */
  decidedInPool(requests: number, dispatchMs: number, handOverMs: number): void {
    this.#answered += requests;
    this.#dispatchMs = average(this.#dispatchMs, dispatchMs);
    this.#handOverMs = average(this.#handOverMs, handOverMs / requests);
  }

  #endSpan(nowMs: number): void {
    const lengthMs = nowMs - this.#spanBeganMs;
    const rate = this.#answered / lengthMs;
    const busy = this.#parts.busyShare();
    this.#spanBeganMs = nowMs;
    this.#answered = 0;
    if (lengthMs > SPAN_MS * PAUSE_SPANS) this.#use(false);
    else if (this.#settling) this.#settling = false;
    else if (this.#trying) this.#judge(rate, nowMs);
    else if (this.#pooling ? this.#fitsHere(rate, busy) : busy < SATURATED) this.#use(false);
    else if (nowMs >= this.#nextTrialMs) this.#try(!this.#pooling, rate);
  }

  /** Whether this thread would have time to spare if it decided everything itself. */
  #fitsHere(rate: number, busy: number): boolean {
    return busy + rate * (this.#inlineMs - this.#handOverMs) < UNBURDENED;
  }

  #try(pooling: boolean, rate: number): void {
    this.#comparedRate = rate;
    this.#use(pooling);
    this.#trying = true;
    this.#settling = true;
  }

  #judge(rate: number, nowMs: number): void {
    const better = this.#pooling
      ? rate > this.#comparedRate * WORTHWHILE
      : rate * WORTHWHILE > this.#comparedRate;
    this.#waitMs = better ? FIRST_WAIT_MS : Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    this.#nextTrialMs = nowMs + this.#waitMs;
    this.#use(better === this.#pooling);
  }

  #use(pooling: boolean): void {
    this.#settling = pooling !== this.#pooling;
    this.#pooling = pooling;
    this.#trying = false;
  }
}

function average(before: number, figure: number): number {
  return before + (figure - before) * WEIGHT;
}
