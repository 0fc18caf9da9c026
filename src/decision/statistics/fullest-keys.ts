import { ROW_SLOTS, type RuleGeneration } from './rule-statistics.ts';
import { SLOT_WORDS } from './shared-totals.ts';

/** The slot behind the totals of a limit, in the same cache line, which the evaluator has just used. */
const SLOT = ROW_SLOTS - 1;

/** The key that is closest to a limit. */
export interface FullestKey {
  /** The part of its limit that is used, with 24 bits; more than 1 if it is exceeded. */
  readonly share: number;
  /** An operator has given the key another limit. */
  readonly isOverridden: boolean;
}

/** The fullest key of a limit at a time, in seconds since the epoch; null if no key was counted lately. */
export function fullestKey(
  { statistics, shares }: RuleGeneration,
  limit: number,
  nowS: number,
): FullestKey | null {
  const word = wordOf(limit);
  const share = shares[word];
  if (share === 0 || statistics[word + 1] >>> 0 <= nowS) return null;
  return { share: Math.abs(share), isOverridden: share < 0 };
}

/** Whether a share, above 0, is larger than that of the fullest key, or there is none. False for NaN. */
export function isFullest(
  { statistics, shares }: RuleGeneration,
  limit: number,
  share: number,
  nowS: number,
): boolean {
  const word = wordOf(limit);
  return share > Math.abs(shares[word]) || (share > 0 && statistics[word + 1] >>> 0 <= nowS);
}

/**
 * Records the fullest key of a limit. Layout of the slot, which all threads write and none locks:
 *
 *     first word   Float32  the share, negative if the key has another limit than the rule
 *     second word  Int32    the second until which it counts, since the epoch, modulo 2^32
 *
 * If two threads write at the same moment, one of both shares is lost, or counts until the end of the other one.
 */
export function recordFullest(
  { statistics, shares }: RuleGeneration,
  limit: number,
  { share, isOverridden }: FullestKey,
  untilS: number,
): void {
  const word = wordOf(limit);
  shares[word] = isOverridden ? -share : share;
  statistics[word + 1] = untilS;
}

function wordOf(limit: number): number {
  return (limit * ROW_SLOTS + SLOT) * SLOT_WORDS;
}
