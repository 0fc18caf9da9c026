/** Waits between attempts: first one, upper bound. Milliseconds. */
export interface BackoffBounds {
  readonly initialMs: number;
  readonly maxMs: number;
  /** By what the reach of the waits grows with each attempt; 2 unless given. */
  readonly multiplier?: number;
}

/**
 * The wait before attempt `attempt` (0 for the first retry): a random time from `initial` to `initial` multiplied once
 * for each attempt before, never above the maximum. The first wait is exactly the initial one; when that is not below the
 * maximum, every wait is the maximum.
 */
export function backoffMs(bounds: BackoffBounds, attempt: number, random: () => number): number {
  const { initialMs, maxMs, multiplier = 2 } = bounds;
  if (initialMs >= maxMs) return maxMs;
  const reach = Math.min(initialMs * multiplier ** attempt, maxMs);
  return initialMs + random() * (reach - initialMs);
}
