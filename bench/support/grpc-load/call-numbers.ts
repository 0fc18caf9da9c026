/** Numbers of calls are below this. */
export const CALL_NUMBERS = 100_000;

/** No divisor in common with the above, so that every number comes once before one comes again. */
const STEP = 61_803;

/** The numbers of one call after the other: all of them, scattered, and the same in every run. */
export class CallNumbers {
  #next = 0;

  next(): number {
    const number = this.#next;
    this.#next = number + STEP < CALL_NUMBERS ? number + STEP : number + STEP - CALL_NUMBERS;
    return number;
  }
}
