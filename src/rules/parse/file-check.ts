import type { RuleFault } from '../rule-set.ts';
import type { FaultList } from './fault-list.ts';
import type { Source } from './source-text.ts';
import { printable } from './yaml/quote.ts';

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
    const path = names.map(name => printable(name)).join('.');
    return { file: this.source.file, line, column, path, message };
  }
}
