import type { Rate } from '../../../model/documents.ts';
import type { Bucket } from '../rows/totals.ts';

/** Adds what has come since the last time; a bucket is full at first. A clock that was set back takes nothing out of it. */
export function refill(bucket: Bucket, now: number, { limit, perMs, burst }: Rate): void {
  const { tokens, at } = bucket;
  const filled = tokens === null || at === null ? burst : tokens + (Math.max(0, now - at) * limit) / perMs;
  bucket.tokens = Math.min(burst, filled);
  bucket.at = now;
}

export function take(bucket: Bucket, count: number): void {
  bucket.tokens = (bucket.tokens as number) - count;
}

/** When there is a whole token, in milliseconds since the epoch. */
export function nextTokenAt(
  bucket: Bucket,
  now: number,
  { limit, perMs }: Pick<Rate, 'limit' | 'perMs'>,
): number {
  return now + Math.max(1, Math.ceil(((1 - (bucket.tokens as number)) * perMs) / limit));
}
