/**
 * A token bucket, as the moment when it will be full again (the generic cell rate algorithm). The moment is kept without
 * rounding, in milliseconds and a rest, so every request is decided as if tokens flowed in continuously.
 */
export class TokenBucket {
  /** The bucket is full again `rest / drain` milliseconds after this time; 0 if nothing was taken. */
  fullMs = 0;
  /** Units, from 0 to below the drain. */
  rest = 0;

  /** Replaces the state. */
  set(fullMs: number, rest: number): void {
    this.fullMs = fullMs;
    this.rest = rest;
  }

  /**
   * Returns the level at a time: the units that were taken and have not flowed in again.
   *
   * A level above the capacity means that the clock was set back, or that the rule has changed. The bucket is empty then,
   * from the present time on. Otherwise, requests would be refused until the time that was set back has passed.
   *
   * @param drain units that flow in every millisecond; 0 only if the capacity is 0
   */
  levelAt(nowMs: number, drain: number, capacity: number): number {
    // A rule with another drain may have written the rest.
    const rest = Math.min(this.rest, Math.max(drain - 1, 0));
    const level = Math.max((this.fullMs - nowMs) * drain + rest, 0);
    if (level <= capacity) return level;
    this.fill(nowMs, drain, capacity);
    return capacity;
  }

  /** Sets the level at a time. */
  fill(nowMs: number, drain: number, level: number): void {
    // Not with `%`, which takes longer for doubles than everything else here.
    const wholeMs = level === 0 ? 0 : Math.floor(level / drain);
    this.rest = Math.max(level - wholeMs * drain, 0);
    this.fullMs = nowMs + wholeMs;
  }
}
