/** When to try again (specification 3.6). Times in milliseconds. */
export interface RetryPolicy {
  /** 1 to 100. */
  readonly maxAttempts: number;
  /** 100 ms to 1 h. */
  readonly baseMs: number;
  /** 1 to 10; 1 waits the same each time. */
  readonly factor: number;
  /** At most 24 h. */
  readonly maxMs: number;
  /** 0 to 1. */
  readonly jitter: number;
  /** In place of base, factor, max and jitter: at most 50 waits, the last of which repeats. */
  readonly scheduleMs: readonly number[] | null;
  /** No further attempt once this long has passed since the first one began. */
  readonly maxAgeMs: number | null;
}

/** The policy of a worker that does not set one. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxAttempts: 12,
  baseMs: 5_000,
  factor: 3,
  maxMs: 21_600_000,
  jitter: 0.2,
  scheduleMs: null,
  maxAgeMs: null,
};

/**
 * Merges a change into a policy. A change that sets the base, factor, maximum delay or jitter but no list of delays removes
 * the list.
 */
export function mergeRetry(policy: RetryPolicy, said: Partial<RetryPolicy> | null | undefined): RetryPolicy {
  return said === null || said === undefined ? policy : { ...policy, ...curved(said), ...said };
}

/** Merges two partial policies as {@link mergeRetry} does; null for no policy. */
export function mergeRetryPart(
  before: Partial<RetryPolicy> | null,
  said: Partial<RetryPolicy>,
): Partial<RetryPolicy> {
  return before === null ? said : { ...before, ...curved(said), ...said };
}

function curved({
  baseMs,
  factor,
  maxMs,
  jitter,
}: Partial<RetryPolicy>): Pick<RetryPolicy, 'scheduleMs'> | null {
  return [baseMs, factor, maxMs, jitter].some(part => part !== undefined) ? { scheduleMs: null } : null;
}

/**
 * The wait after the `attempt`th attempt has failed (1 for the first): min(max, base · factor^(attempt − 1)), spread
 * evenly by the jitter.
 *
 * @param random from 0 to below 1
 * @returns whole milliseconds
 */
export function retryWaitMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const { scheduleMs } = policy;
  if (scheduleMs !== null && scheduleMs.length > 0) {
    return scheduleMs[Math.min(Math.max(attempt, 1), scheduleMs.length) - 1];
  }
  const wait = Math.min(policy.maxMs, policy.baseMs * policy.factor ** (Math.max(attempt, 1) - 1));
  return Math.round(wait * (1 - policy.jitter + 2 * policy.jitter * random()));
}

/**
 * Whether the age of the policy is over at the time of the next attempt, which is not made then.
 *
 * @param firstStart when the first attempt began; null when none has
 */
export function isPolicyOver(policy: RetryPolicy, firstStart: number | null, nextStart: number): boolean {
  return policy.maxAgeMs !== null && firstStart !== null && nextStart >= firstStart + policy.maxAgeMs;
}
