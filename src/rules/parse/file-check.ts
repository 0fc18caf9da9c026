import type { FaultList } from './fault-list.ts';
import { printable } from './quote.ts';
import type { Source } from './source-text.ts';

/** What the checks of one file share: where faults go, and where in the tree the check stands. */
export class FileCheck {
  readonly source: Source;
  readonly #faults: FaultList;
  #domain = '';
  readonly #entries: string[] = [];

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

  /** Faults that follow lie within this domain. */
  enterDomain(name: string): void {
    this.#domain = name;
  }

  /** Faults that follow lie within this entry, until it is left. */
  enter(composite: string): void {
    this.#entries.push(composite);
  }

  leave(): void {
    this.#entries.pop();
  }

  /** Reports what is wrong at an offset of the file. */
  fault(offset: number, message: string): void {
    if (this.full) return;
    const { line, column } = this.source.placeOf(offset);
    const names = this.#domain === '' ? this.#entries : [this.#domain, ...this.#entries];
    const path = names.map(name => printable(name)).join('.');
    this.#faults.add({ file: this.source.file, line, column, path, message });
  }
}
