/** For each series, the sums of its values and those of the series before it. Unknown values count as 0. */
export function stackedValues(series: readonly (readonly (number | null)[])[]): number[][] {
  const sums: number[][] = [];
  for (const values of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, i) => (below?.[i] ?? 0) + (value ?? 0)));
  }
  return sums;
}
