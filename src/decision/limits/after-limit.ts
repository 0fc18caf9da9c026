import { WHOLE } from '../../rules/shares.ts';

/** A request to a fixed window: its hits, and the count after it. */
interface CountedRequest {
  readonly hits: number;
  readonly after: number;
}

/**
 * Whether a request beyond its limit passes, because the limit admits a share of the hits after it.
 *
 * With one hit for each request, the n-th hit beyond the limit passes if `⌊n × share⌋` is greater than
 * `⌊(n − 1) × share⌋`. The store counts every hit, so exactly the share of them passes, over all processes, and spread
 * evenly. With more hits, a request passes if its hits reach the next multiple: `⌊n × share / hits⌋`, so the same share
 * of equal requests passes. A request that begins below the limit does not pass.
 *
 * @param limit the limit, below `after`
 * @param share in hundredths of a percent, below {@link WHOLE}
 */
export function passesAfterLimit({ hits, after }: CountedRequest, limit: number, share: number): boolean {
  const beyond = after - limit;
  // Of larger counts, Redis and the embedded store do not tell single hits apart.
  if (hits === 0 || beyond < hits || after > Number.MAX_SAFE_INTEGER) return false;
  if (beyond * share <= Number.MAX_SAFE_INTEGER && hits * WHOLE <= Number.MAX_SAFE_INTEGER) {
    const size = hits * WHOLE;
    return Math.floor((beyond * share) / size) > Math.floor(((beyond - hits) * share) / size);
  }
  const [n, each, part, size] = [BigInt(beyond), BigInt(hits), BigInt(share), BigInt(hits) * BigInt(WHOLE)];
  return (n * part) / size > ((n - each) * part) / size;
}
