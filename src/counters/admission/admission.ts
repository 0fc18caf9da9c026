import type { LeaseTerms } from '../leases/lease.ts';
import type { PenaltyTerms } from './penalty.ts';

/**
 * How a slot of a batch is counted.
 *
 * - `count`: every hit is added, and the caller compares the count with the limit (fixed windows)
 * - `slidingWindow`, `tokenBucket`: the store adds only the hits of requests that fit
 * - `fixedWindow`: the same in fixed windows, for limits with a penalty or with classes. All windows of the limit have one
 *   key
 * - `leased`: fixed windows whose hits are held by leases before they are spent; see `leases/lease.ts`. A limit on what runs
 *   at the same time is one whose hits are never spent
 */
export const ADMISSION = { count: 0, slidingWindow: 1, tokenBucket: 2, fixedWindow: 3, leased: 4 } as const;

/** What `opRefused` of a batch says about an op: admitted, refused because it does not fit, or because of a penalty. */
export const REFUSED = { no: 0, full: 1, penalized: 2 } as const;

/**
 * The terms under which a store admits requests. A *level* says how full a limit is: from 0 (unused) to `capacity`, in
 * units of which a hit takes `scale`. A request fits if its hits do not raise the level above the capacity. All numbers are
 * whole, and levels up to 2^53 are exact.
 */
export interface AdmissionTerms {
  /** One of {@link ADMISSION}, except `count`. */
  readonly admission: number;
  /** Units of a hit: 1 for a window. A hit of a token bucket takes `scale / drain` milliseconds to drain. */
  readonly scale: number;
  /** The level at which the limit is used up: `scale` times the requests of the limit, or times the burst of a bucket. */
  readonly capacity: number;
  /** Token bucket: units by which the level drops every millisecond. Else 0. */
  readonly drain: number;
  /** The length of a window in seconds; of a calendar, that of its longest window. 0 for a token bucket. */
  readonly windowS: number;
  /**
   * Units at the top of the limit that are kept free of the hits of this request, for requests of more important classes:
   * a request fits if its hits do not raise the level above `capacity - reserve`. From 0, the default, to the capacity.
   * Requests for the same key can have different ones, but not together with a penalty.
   */
  readonly reserve?: number;
  /** Absent or null if keys that keep exceeding the limit are not penalized. */
  readonly penalty?: PenaltyTerms | null;
  /** Only for {@link ADMISSION}.leased. */
  readonly lease?: LeaseTerms | null;
}

/**
 * How many of `count` equal requests, one after the other, are admitted at a level. Requests without hits take nothing, and
 * are admitted as long as one hit would fit.
 */
export function admittedOf(
  level: number,
  { capacity, scale }: Pick<AdmissionTerms, 'capacity' | 'scale'>,
  hits: number,
  count: number,
): number {
  if (hits === 0) return level + scale <= capacity ? count : 0;
  return Math.max(0, Math.min(count, Math.floor((capacity - level) / (hits * scale))));
}

/** The level after a refund. It does not drop below `floor`, the part of the level that cannot be given back. */
export function levelAfterRefund(level: number, floor: number, units: number): number {
  return Math.max(Math.min(level, floor), level - units);
}
