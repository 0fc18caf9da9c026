/** The base of the digits of a long division: with three of them, a rest of ten years in milliseconds. */
export const DIGIT = 8_192;

/**
 * A sliding window: the hits of the current window, and those hits of the previous one that would still count if it had
 * been used evenly.
 *
 * In any span of the length of the window, more hits than the limit are admitted only if the previous window was used
 * late: the excess is at most the hits that came after the place of an even spread, so at most
 * `previous × elapsed / length`, which is less than the limit. In the windows themselves, it is at most the limit.
 *
 * All numbers are exact.
 */
export class SlidingWindow {
  /** Start of the current window, in seconds since the epoch; 0 if no hit is known. */
  startS = 0;
  /** Hits of the previous window. */
  previous = 0;
  /** Hits of the current window. */
  current = 0;
  /** The part of the level that stems from the previous window, and cannot be given back. */
  floor = 0;

  /** Replaces the state. */
  set(startS: number, previous: number, current: number): void {
    this.startS = startS;
    this.previous = previous;
    this.current = current;
  }

  /**
   * Moves the windows to a time, and returns the level then.
   *
   * A thread or process whose clock is slightly behind may find a window that is newer by one. It adds to this window, as
   * if it had just begun. If the window is still newer, the clock was set back, and the window becomes that of the
   * present time. Otherwise, requests would be refused until the time that was set back has passed.
   *
   * A thread that is held for longer than the window after it has read the clock looks like a clock that was set back.
   * The hits of the newer window are then forgotten, so that it admits its limit once more each time. Only windows of one
   * or two seconds are short enough for this, and tolerating more would make a clock that was set back close them for
   * that time.
   */
  moveTo(nowMs: number, windowS: number): number {
    const nowS = Math.floor(nowMs / 1_000);
    const startS = nowS - (nowS % windowS);
    const aheadS = this.startS - startS;
    if (aheadS < 0) this.set(startS, aheadS === -windowS ? this.current : 0, 0);
    else if (aheadS > windowS) this.startS = startS;
    const windowMs = windowS * 1_000;
    const restMs = aheadS > 0 ? windowMs : windowMs - (nowMs - startS * 1_000);
    this.floor = weightOf(this.previous, restMs, windowMs);
    return this.floor + this.current;
  }
}

/**
 * What hits of the previous window weigh when `restMs` of the current one are left: `hits × restMs / windowMs`, rounded up.
 * Exact for all whole numbers up to 2^53, and windows of at most ten years. `redis/protocol/state-functions.ts` calculates
 * with the same operations.
 */
export function weightOf(hits: number, restMs: number, windowMs: number): number {
  const product = hits * restMs;
  return product <= Number.MAX_SAFE_INTEGER
    ? Math.ceil(product / windowMs)
    : longWeightOf(hits, restMs, windowMs);
}

/** Divides digit by digit, so that no number is larger than 2^53. */
function longWeightOf(hits: number, restMs: number, windowMs: number): number {
  const whole = Math.floor(hits / windowMs);
  const part = hits - whole * windowMs;
  let quotient = 0;
  let left = 0;
  for (let place = DIGIT * DIGIT; place >= 1; place /= DIGIT) {
    const sum = left * DIGIT + part * (Math.floor(restMs / place) % DIGIT);
    const digit = Math.floor(sum / windowMs);
    quotient = quotient * DIGIT + digit;
    left = sum - digit * windowMs;
  }
  return whole * restMs + quotient + (left > 0 ? 1 : 0);
}

/**
 * The longest rest of a window in which hits of the window before weigh at most `most`, in milliseconds.
 * @param most less than `hits`
 */
export function restForWeight(hits: number, most: number, windowMs: number): number {
  const product = most * windowMs;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / hits);
  // The estimate is off by at most a millisecond.
  let restMs = Math.floor((most / hits) * windowMs);
  while (weightOf(hits, restMs, windowMs) > most) restMs--;
  while (weightOf(hits, restMs + 1, windowMs) <= most) restMs++;
  return restMs;
}
