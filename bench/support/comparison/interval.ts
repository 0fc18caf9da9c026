/** The rest of the confidence of an interval of 95 %. */
const MISSED = 0.05;

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Returns an interval that contains the median of what the values were drawn from in at least 95 % of all cases; null if
 * there are fewer than six values, for which no such interval exists, or if one of them is not a number.
 *
 * Its ends are two of the values. Whatever the distribution, each value is below its median with probability 1/2, so the
 * number of values below is binomial, which gives the ranks (J.-Y. Le Boudec, Performance Evaluation of Computer and
 * Communication Systems, EPFL Press 2010, section 2.2). With nine values, these are the second and the eighth.
 */
export function medianInterval(values: readonly number[]): Interval | null {
  if (values.some(Number.isNaN)) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const left = valuesLeftOut(sorted.length);
  return left === null ? null : { low: sorted[left], high: sorted[sorted.length - 1 - left] };
}

/** How many values at each end are outside the interval; null if it would not even contain the median with all values. */
function valuesLeftOut(count: number): number | null {
  let left: number | null = null;
  let probability = 0.5 ** count;
  let below = probability;
  for (let number = 0; 2 * below <= MISSED; number++) {
    left = number;
    probability *= (count - number) / (number + 1);
    below += probability;
  }
  return left;
}
