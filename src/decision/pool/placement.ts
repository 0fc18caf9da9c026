/** Smaller batches are never passed to another thread, which would cost more than deciding them. */
const LEAST_REQUESTS = 8;

/** Length of a measurement span. */
const SPAN_MS = 100;

/** After a pause of this number of spans, measurements are discarded. */
const PAUSE_SPANS = 5;

/** Above this fraction, this thread is saturated, and the pool may be tried. */
const SATURATED = 0.9;

/** If this thread would be busy below this fraction without the pool, the pool is not used. */
const UNBURDENED = 0.6;

/** Minimum ratio between the rates with and without the pool for the pool to be used. */
const WORTHWHILE = 1.05;

/** Delays between two trials. The delay doubles while trials bring no gain. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** Weight of a new value in a moving average. */
const WEIGHT = 0.1;

/**
 * Decides whether a batch is decided in this thread or in the pool.
 *
 * Deciding here is cheapest and fastest, so it is the default. The pool helps only if this thread is saturated while other
 * cores have spare time, which cannot be queried: containers share cores, and callers and stores use them too. Therefore,
 * it is tried. When this thread is saturated, large batches go to the pool for a short time, and continue to do so if the
 * rate of requests increases. The alternative is tried again from time to time.
 *
 * The minimum size of a large batch follows from the measured costs of deciding a request here and of passing on a batch.
 */
export class Placement {
  readonly #nowMs: () => number;
  readonly #busyShare: () => number;
  /** Milliseconds of this thread: to decide a request here, to pass on a batch, to deliver one of its answers. */
  #inlineMs = 0.002;
  #dispatchMs = 0.03;
  #handOverMs = 0.000_5;

  #pooling = false;
  /** During a trial, the rate before it. */
  #comparedRate = 0;
  #trying = false;
  /** True for the first span after a change, which is ignored because it includes earlier batches. */
  #skipSpan = false;
  #answered = 0;
  #spanBeganMs: number;
  #nextTrialMs: number;
  #waitMs = FIRST_WAIT_MS;

  /**
   * @param nowMs a monotonic clock, in milliseconds with fractions
   * @param busyShare returns the fraction of time, 0 to 1, that this thread was busy since the last call
   */
  constructor(nowMs: () => number, busyShare: () => number) {
    this.#nowMs = nowMs;
    this.#busyShare = busyShare;
    this.#spanBeganMs = nowMs();
    this.#nextTrialMs = this.#spanBeganMs;
  }

  /** True while large batches go to the pool. */
  get pooling(): boolean {
    return this.#pooling;
  }

  /** Whether a batch of this size should go to the pool if a thread is free. */
  isForPool(requests: number): boolean {
    if (requests < LEAST_REQUESTS) return false;
    const nowMs = this.#nowMs();
    if (nowMs - this.#spanBeganMs >= SPAN_MS) this.#endSpan(nowMs);
    return this.#pooling && requests * (this.#inlineMs - this.#handOverMs) > this.#dispatchMs;
  }

  /** Records that a batch was decided here, and how long this took. */
  decidedHere(requests: number, spentMs: number): void {
    this.#answered += requests;
    if (requests >= LEAST_REQUESTS) this.#inlineMs = average(this.#inlineMs, spentMs / requests);
  }

  /** Records that the pool decided a batch, and how long passing it on and delivering its answers took this thread. */
  decidedInPool(requests: number, dispatchMs: number, handOverMs: number): void {
    this.#answered += requests;
    this.#dispatchMs = average(this.#dispatchMs, dispatchMs);
    this.#handOverMs = average(this.#handOverMs, handOverMs / requests);
  }

  #endSpan(nowMs: number): void {
    const lengthMs = nowMs - this.#spanBeganMs;
    const rate = this.#answered / lengthMs;
    const busy = this.#busyShare();
    this.#spanBeganMs = nowMs;
    this.#answered = 0;
    if (lengthMs > SPAN_MS * PAUSE_SPANS) this.#use(false);
    else if (this.#skipSpan) this.#skipSpan = false;
    else if (this.#trying) this.#endTrial(rate, nowMs);
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
    this.#skipSpan = true;
  }

  #endTrial(rate: number, nowMs: number): void {
    const better = this.#pooling
      ? rate > this.#comparedRate * WORTHWHILE
      : rate * WORTHWHILE > this.#comparedRate;
    this.#waitMs = better ? FIRST_WAIT_MS : Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    this.#nextTrialMs = nowMs + this.#waitMs;
    this.#use(better === this.#pooling);
  }

  #use(pooling: boolean): void {
    this.#skipSpan = pooling !== this.#pooling;
    this.#pooling = pooling;
    this.#trying = false;
  }
}

function average(before: number, figure: number): number {
  return before + (figure - before) * WEIGHT;
}
