/**
 * By what waits are multiplied from one to the next, of the setting. The reference implementation multiplies by the
 * setting itself, so that its default of 0.5 never lets a wait grow. Here that is a growth by one half; above 1 the
 * setting has the effect that it has there.
 */
export function waitMultiplier(factor: number): number {
  if (factor <= 0) return 2;
  return factor > 1 ? factor : 1 + factor;
}
