import type { Durations } from './deltas.ts';

/** How a sink writes statistics: whole lines, each with its line feed. Empty for one that it does not show. */
export interface LineFormat {
  /** What a counter grew by since the last flush. */
  counter(name: string, delta: number): string;
  gauge(name: string, value: number): string;
  timer(name: string, durations: Durations): string;
  /** Ends a flush. */
  end(): string;
}

/** Whole numbers as they are, others with six decimals: never with an exponent, which not every receiver reads. */
export function plainNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : value.toFixed(6);
}

/**
 * The share of values that is sent, as `@0.25`, when one line stands for `count` of them. Receivers take one divided by
 * it, some of them cut to a whole number, so it is never above the true share.
 */
export function sampleRate(count: number): string {
  if (count === 1) return '';
  const decimals = 2 * String(count).length + 1;
  const share = 10n ** BigInt(decimals) / BigInt(count);
  return `|@0.${String(share).padStart(decimals, '0').replace(/0+$/, '')}`;
}
