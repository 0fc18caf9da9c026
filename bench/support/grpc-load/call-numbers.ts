/** Numbers of calls are below this. */
export const CALL_NUMBERS = 100_000;

/** No divisor in common with the above, so that every number comes once before one comes again. */
const STEP = 61_803;

/** The numbers of one call after the other: all of them, scattered, and the same in every run. */
export class CallNumbers {
  readonly #callsPerNumber: number;
  #next = 0;
  /** Number of calls that have had the next number. */
  #calls = 0;

  /** @param callsPerNumber number of calls in a row that have the same number */
  constructor(callsPerNumber = 1) {
    this.#callsPerNumber = callsPerNumber;
  }

  next(): number {
    const number = this.#next;
    if (++this.#calls < this.#callsPerNumber) return number;
    this.#calls = 0;
    this.#next = number + STEP < CALL_NUMBERS ? number + STEP : number + STEP - CALL_NUMBERS;
    return number;
  }
}
