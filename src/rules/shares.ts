/** The whole, in hundredths of a percent: the unit of all shares. */
export const WHOLE = 10_000;

const PERCENTAGE = /^([0-9]{1,4})(?:\.([0-9]{1,2}))?%$/;

/** A percentage as rule files write it, `85%` or `12.5%`, in hundredths of a percent. Null if it is not one. */
export function writtenShare(text: string): number | null {
  const match = PERCENTAGE.exec(text);
  if (match === null) return null;
  const [, percent, decimals = ''] = match;
  return Number(percent) * 100 + Number(decimals.padEnd(2, '0'));
}

/** A share as rule files write it. */
export function shareText(share: number): string {
  return `${share / 100}%`;
}

/** The whole hits in a share of a limit, rounded down. Exact for limits up to 2^53. */
export function shareOf(limit: number, share: number): number {
  const product = limit * share;
  // Below, the product is exact, and then the rounded quotient never reaches a whole number that the exact one does not.
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / WHOLE);
  return Number((BigInt(limit) * BigInt(share)) / BigInt(WHOLE));
}
