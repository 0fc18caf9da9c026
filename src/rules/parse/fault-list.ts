import { MAX_REPORTED_FAULTS, type RuleFault, RuleSetRefused } from '../rule-set.ts';

/** Collects the faults of one load and passes on its warnings, each up to the number that is reported. */
export class FaultList {
  readonly #faults: RuleFault[] = [];
  readonly #onWarning: (warning: RuleFault) => void;
  #warnings = 0;

  constructor(onWarning: (warning: RuleFault) => void = () => {}) {
    this.#onWarning = onWarning;
  }

  /** True when looking further is of no use. */
  get full(): boolean {
    return this.#faults.length >= MAX_REPORTED_FAULTS;
  }

  /** True when further warnings are dropped. */
  get warnedEnough(): boolean {
    return this.#warnings >= MAX_REPORTED_FAULTS;
  }

  add(fault: RuleFault): void {
    if (!this.full) this.#faults.push(fault);
  }

  /** Passes on what does not keep the rules from being loaded. */
  warn(warning: RuleFault): void {
    if (this.warnedEnough) return;
    this.#warnings++;
    this.#onWarning(warning);
  }

  /** @throws RuleSetRefused when there is any fault */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw new RuleSetRefused(this.#faults);
  }
}
