/**
 * Maximum difference between the times of threads that use a bucket: a thread reads the clock before it has the lock.
 * Setting the clock back by less is treated alike.
 */
const THREAD_SKEW_MS = 1_000;

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
   * A level above the capacity means that another thread has read the clock later, that the clock was set back, or that the
   * rule has changed. The bucket is empty then. If the clock was set back, it is empty from the present time on. Otherwise,
   * requests would be refused until the time that was set back has passed. Among threads, this would let in the same tokens
   * several times.
   *
   * @param drain units that flow in every millisecond; 0 only if the capacity is 0
   */
  levelAt(nowMs: number, drain: number, capacity: number): number {
    // A rule with another drain may have written the rest.
    const rest = Math.min(this.rest, Math.max(drain - 1, 0));
    const level = Math.max((this.fullMs - nowMs) * drain + rest, 0);
    if (level > capacity + THREAD_SKEW_MS * drain) this.fill(nowMs, drain, capacity);
    return Math.min(level, capacity);
  }

  /** Sets the level at a time. */
  fill(nowMs: number, drain: number, level: number): void {
    // Not with `%`, which takes longer for doubles than everything else here.
    const wholeMs = level === 0 ? 0 : Math.floor(level / drain);
    this.rest = Math.max(level - wholeMs * drain, 0);
    this.fullMs = nowMs + wholeMs;
  }
}
