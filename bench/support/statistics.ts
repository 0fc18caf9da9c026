/** The middle value; the mean of the two in the middle when their number is even. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * The smallest value that at least `percent` of 100 of the values do not exceed (nearest rank): always one that was
 * measured, never one between two. NaN of nothing.
 */
export function percentile(sortedAscending: ArrayLike<number>, percent: number): number {
  const count = sortedAscending.length;
  if (count === 0) return Number.NaN;
  const rank = Math.ceil((percent / 100) * count);
  return sortedAscending[Math.min(Math.max(rank, 1), count) - 1];
}

/**
 * How many times `over` is `under`, round by round, and of that the median. Both of a pair come from one round, so a
 * machine that changes its speed between rounds does not change the ratio.
 */
export function medianRatio(over: readonly number[], under: readonly number[]): number {
  return median(over.map((value, round) => value / under[round]));
}
