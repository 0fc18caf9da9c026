import { MAX_REPORTED_FAULTS, type RuleFault, RuleSetRefused } from '../rule-set.ts';

/** Collects the faults of one load, up to the number that is reported. */
export class FaultList {
  readonly #faults: RuleFault[] = [];

  /** True when looking further is of no use. */
  get full(): boolean {
    return this.#faults.length >= MAX_REPORTED_FAULTS;
  }

  add(fault: RuleFault): void {
    if (!this.full) this.#faults.push(fault);
  }

  /** @throws RuleSetRefused when there is any fault */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw new RuleSetRefused(this.#faults);
  }
}
