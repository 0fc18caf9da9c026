/** A rate per second for a table: `430`, `37.2`, `0`. */
export function rateText(perSecond: number): string {
  return perSecond >= 100 ? String(Math.round(perSecond)) : String(Math.round(perSecond * 10) / 10);
}
