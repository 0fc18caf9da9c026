import { excerpt } from '../../../base/printable.ts';
import { MAX_REPORTED_FAULTS, type RuleFault, type RulePlace, RuleSetRefused } from '../../rule-set.ts';

/** A file, a line and a column, both from 1; both 0 for a source without lines. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The file or resource that is checked. */
export interface Source {
  /** The name of the file or resource. */
  readonly file: string;
  readonly noun: 'file' | 'resource';
  /** Where an offset of the tree is written. */
  placeOf(offset: number): Place;
}

/** Where an entry, or a field of it, is written, for what is found when all files are read. */
export interface EntryPlace {
  /** The check of its file, which has left the entry. */
  readonly check: FileCheck;
  readonly offset: number;
}

/** The state of the check of one file: the list of faults, and the current position in the tree. */
export class FileCheck {
  readonly source: Source;
  readonly #faults: FaultList;
  #domain = '';
  readonly #entries: string[] = [];
  /** By entry: where the overlay has what it changes in the entry; null if it changes nothing. */
  readonly #overlaidBy: (RulePlace | null)[] = [];
  #nameLength = 0;

  constructor(source: Source, faults: FaultList) {
    this.source = source;
    this.#faults = faults;
  }

  /** True if no more faults are reported, so that the check can end. */
  get full(): boolean {
    return this.#faults.full;
  }

  /** The nesting depth of the current entry. */
  get levels(): number {
    return this.#entries.length;
  }

  /** The length of the full name of the current entry, without the domain. */
  get nameLength(): number {
    return this.#nameLength;
  }

  /** Sets the domain of the faults that follow. */
  enterDomain(name: string): void {
    this.#domain = name;
  }

  /**
   * Enters an entry: the faults that follow are within it, until {@link leave}.
   *
   * @param overlaidBy where an overlay has what it changes in the entry, for faults that it may have caused
   */
  enter(composite: string, overlaidBy: RulePlace | null = null): void {
    this.#entries.push(composite);
    this.#overlaidBy.push(overlaidBy);
    this.#nameLength += composite.length + 1;
  }

  leave(): void {
    this.#nameLength -= (this.#entries.pop()?.length ?? 0) + 1;
    this.#overlaidBy.pop();
  }

  /** Where an offset of the tree is written. */
  placeOf(offset: number): RulePlace {
    const { file, line } = this.source.placeOf(offset);
    return { file, line };
  }

  /** Reports a fault at an offset of the file. */
  fault(offset: number, message: string): void {
    if (!this.full) this.#faults.add(this.#at(offset, message));
  }

  /**
   * Warns about something that can be loaded but is probably a mistake. Not for resources: they are written by programs,
   * and protobuf does not distinguish a missing value from 0.
   */
  warn(offset: number, message: string): void {
    if (this.source.noun === 'resource' || this.#faults.warnedEnough) return;
    this.#faults.warn(this.#at(offset, message));
  }

  #at(offset: number, message: string): RuleFault {
    const { file, line, column } = this.source.placeOf(offset);
    const overlay = this.#overlaidBy.at(-1) ?? null;
    const changed =
      overlay === null || overlay.file === file
        ? ''
        : ` (the rule is changed by the overlay in ${overlay.file}:${overlay.line})`;
    const names = this.#domain === '' ? this.#entries : [this.#domain, ...this.#entries];
    const path = names.map(name => excerpt(name)).join('.');
    return { file, line, column, path, message: message + changed };
  }
}

/** Collects the faults of one load and reports its warnings, at most {@link MAX_REPORTED_FAULTS} of each. */
export class FaultList {
  readonly #faults: RuleFault[] = [];
  readonly #onWarning: (warning: RuleFault) => void;
  #warnings = 0;

  constructor(onWarning: (warning: RuleFault) => void = () => {}) {
    this.#onWarning = onWarning;
  }

  /** True if no more faults are reported. */
  get full(): boolean {
    return this.#faults.length >= MAX_REPORTED_FAULTS;
  }

  /** True if no more warnings are reported. */
  get warnedEnough(): boolean {
    return this.#warnings >= MAX_REPORTED_FAULTS;
  }

  add(fault: RuleFault): void {
    if (!this.full) this.#faults.push(fault);
  }

  /** Reports a problem that does not prevent loading. */
  warn(warning: RuleFault): void {
    if (this.warnedEnough) return;
    this.#warnings++;
    this.#onWarning(warning);
  }

  /** @throws RuleSetRefused if there is any fault */
  throwIfAny(): void {
    if (this.#faults.length > 0) throw new RuleSetRefused(this.#faults);
  }
}
