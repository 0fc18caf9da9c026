import { excerpt } from '../../base/printable.ts';
import { MAX_REPORTED_FAULTS, type RuleFault, RuleSetRefused } from '../rule-set.ts';

/** A line and a column, both from 1; both 0 where there are no lines. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What is checked, as far as faults need to know it. */
export interface Source {
  /** The name of the file or resource. */
  readonly file: string;
  readonly noun: 'file' | 'resource';
  /** Where an offset of the tree lies. */
  placeOf(offset: number): Place;
}

/** What the checks of one file share: where faults go, and where in the tree the check stands. */
export class FileCheck {
  readonly source: Source;
  readonly #faults: FaultList;
  #domain = '';
  readonly #entries: string[] = [];
  #nameLength = 0;

  constructor(source: Source, faults: FaultList) {
    this.source = source;
    this.#faults = faults;
  }

  /** True when enough faults are known, so that the rest need not be checked. */
  get full(): boolean {
    return this.#faults.full;
  }

  /** How many entries the check stands in, one within the other. */
  get levels(): number {
    return this.#entries.length;
  }

  /** How long the names of these entries are together, each with a dot. */
  get nameLength(): number {
    return this.#nameLength;
  }

  /** Faults that follow lie within this domain. */
  enterDomain(name: string): void {
    this.#domain = name;
  }

  /** Faults that follow lie within this entry, until it is left. */
  enter(composite: string): void {
    this.#entries.push(composite);
    this.#nameLength += composite.length + 1;
  }

  leave(): void {
    this.#nameLength -= (this.#entries.pop()?.length ?? 0) + 1;
  }

  /** Reports what is wrong at an offset of the file. */
  fault(offset: number, message: string): void {
    if (!this.full) this.#faults.add(this.#at(offset, message));
  }

  /**
   * Reports what may not be what was meant, although it can be loaded. Resources are left out: programs write them,
   * and their format cannot tell a value that is missing from one that is 0.
   */
  warn(offset: number, message: string): void {
    if (this.source.noun === 'resource' || this.#faults.warnedEnough) return;
    this.#faults.warn(this.#at(offset, message));
  }

  #at(offset: number, message: string): RuleFault {
    const { line, column } = this.source.placeOf(offset);
    const names = this.#domain === '' ? this.#entries : [this.#domain, ...this.#entries];
    const path = names.map(name => excerpt(name)).join('.');
    return { file: this.source.file, line, column, path, message };
  }
}

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
