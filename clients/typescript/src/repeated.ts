import { setTimeout as sleep } from 'node:timers/promises';
import type { RetryOptions } from './calls.ts';
import { SluiceProblem, SluiceUnreachable } from './failures.ts';

export const DEFAULT_RETRY: RetryOptions = {
  attempts: 10,
  withinMs: 60_000,
  baseMs: 100,
  maxDelayMs: 10_000,
};

/** Answers of a service, or of a proxy before it, that is unavailable for the moment. */
const UNAVAILABLE = new Set([502, 503, 504]);

/**
 * Runs a call until it succeeds, fails for good, or must not be repeated any longer. It then rejects with the last
 * failure.
 *
 * @param isSafe whether the call may be repeated if it is not known whether it was carried out
 * @param signal ends the wait between two attempts
 */
export async function repeated<T>(
  once: () => Promise<T>,
  isSafe: boolean,
  retry: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const lastStartMs = performance.now() + retry.withinMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once();
    } catch (failure) {
      if (attempt >= retry.attempts || !mayRepeat(failure, isSafe)) throw failure;
      const asked = failure instanceof SluiceProblem ? failure.retryAfterMs : null;
      const delayMs = delayBefore(attempt + 1, asked, retry, Math.random);
      if (performance.now() + delayMs > lastStartMs) throw failure;
      await sleep(delayMs, undefined, { ...(signal && { signal }) }).catch(() => signal?.throwIfAborted());
    }
  }
}

/** Whether a repetition can help and does no harm. */
function mayRepeat(failure: unknown, isSafe: boolean): boolean {
  if (failure instanceof SluiceUnreachable) return isSafe;
  if (!(failure instanceof SluiceProblem)) return false;
  // The service has not carried out a call with one of these answers. The second one means that the first attempt of
  // this call has not ended.
  if (failure.status === 429 || failure.code === 'idempotency_in_progress') return true;
  return isSafe && UNAVAILABLE.has(failure.status);
}

/**
 * The delay before an attempt in milliseconds: random from 0 to a bound that doubles ("full jitter"), so that many
 * callers do not return at the same time. `Retry-After` is added to it.
 *
 * @param attempt the number of the attempt that follows, from 2
 * @param random returns a number from 0 to below 1
 */
export function delayBefore(
  attempt: number,
  retryAfterMs: number | null,
  { baseMs, maxDelayMs }: Pick<RetryOptions, 'baseMs' | 'maxDelayMs'>,
  random: () => number,
): number {
  const bound = Math.min(maxDelayMs, baseMs * 2 ** (attempt - 2));
  return (retryAfterMs ?? 0) + random() * bound;
}
