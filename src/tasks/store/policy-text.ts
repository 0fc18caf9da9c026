import type { RetryPolicy } from '../model/retry-policy.ts';

/** A retry policy without `maxAttempts`, as text. Equal policies have equal texts. */
export function policyText({ baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs }: RetryPolicy): string {
  return JSON.stringify([baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs]);
}

/** @param rest the text of {@link policyText} */
export function policyOf(maxAttempts: number, rest: string): RetryPolicy {
  const [baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs] = JSON.parse(rest);
  return { maxAttempts, baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs };
}
