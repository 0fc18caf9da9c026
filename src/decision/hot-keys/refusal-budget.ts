/** A period of the budget, and the refusals of all rules that a thread records in it. */
const PERIOD_MS = 100;
const PER_PERIOD = 20;

/** Rules share a place if the last bits of their identity are equal. */
const PLACES = 256;

/**
 * Limits how many refusals a thread records, because a flood of refusals would push each other out before anybody sees
 * them. In each period, the first refusal of each rule and the first {@link PER_PERIOD} of all rules are recorded.
 */
export class RefusalBudget {
  #period = 0;
  #left = PER_PERIOD;
  /** By the last bits of the identity of a rule: the last period in which it had a refusal. */
  readonly #periods = new Float64Array(PLACES);

  /** Whether {@link allows} would return false. Takes nothing from the budget. */
  isSpent(ruleA: number, nowMs: number): boolean {
    if (this.#left > 0) return false;
    const period = Math.floor(nowMs / PERIOD_MS);
    return period === this.#period && this.#periods[ruleA & (PLACES - 1)] === period;
  }

  allows(ruleA: number, nowMs: number): boolean {
    const period = Math.floor(nowMs / PERIOD_MS);
    if (period !== this.#period) {
      this.#period = period;
      this.#left = PER_PERIOD;
    }
    const place = ruleA & (PLACES - 1);
    if (this.#left === 0 && this.#periods[place] === period) return false;
    this.#periods[place] = period;
    if (this.#left > 0) this.#left--;
    return true;
  }
}
