/** Bounds of the delay between attempts, in milliseconds. */
export interface BackoffBounds {
  readonly initialMs: number;
  readonly maxMs: number;
  /** The upper bound of the random delay is multiplied by this after each attempt. Defaults to 2. */
  readonly multiplier?: number;
}

/**
 * Returns the delay in milliseconds before retry number `attempt`, counted from 0. The delay is random, between
 * `initialMs` and `initialMs * multiplier ** attempt`, and at most `maxMs`. The first delay is therefore exactly
 * `initialMs`. If `initialMs` is `maxMs` or more, every delay is `maxMs`.
 *
 * @param random returns a number from 0 to below 1
 */
export function backoffMs(bounds: BackoffBounds, attempt: number, random: () => number): number {
  const { initialMs, maxMs, multiplier = 2 } = bounds;
  if (initialMs >= maxMs) return maxMs;
  const reach = Math.min(initialMs * multiplier ** attempt, maxMs);
  return initialMs + random() * (reach - initialMs);
}
