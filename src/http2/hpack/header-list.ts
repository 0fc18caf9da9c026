import { HeaderBlock } from './header-block.ts';

/** What a header list may be before it counts as too large. */
export interface HeaderListLimits {
  /** Our SETTINGS_MAX_HEADER_LIST_SIZE: octets of names and values, and 32 for each field (RFC 9113, 6.5.2). */
  readonly maxListBytes: number;
  /** Number of fields. */
  readonly maxFields: number;
}

/**
 * Collects the fields of a block up to the limits. Beyond them it only counts: a few octets can refer to a large entry
 * many times (an HPACK bomb), so neither memory nor work per field may grow with what is referred to.
 */
export class HeaderList {
  readonly #limits: HeaderListLimits;
  #names: string[] = [];
  #values: string[] = [];
  #bytes = 0;
  #tooLarge = false;

  constructor(limits: HeaderListLimits) {
    this.#limits = limits;
  }

  /** Counts a field of this size (`fieldSize`); whether it is to be kept, by `push`. */
  admit(size: number): boolean {
    this.#bytes += size;
    if (this.#bytes > this.#limits.maxListBytes || this.#names.length >= this.#limits.maxFields)
      this.#tooLarge = true;
    return !this.#tooLarge;
  }

  push(name: string, value: string): void {
    this.#names.push(name);
    this.#values.push(value);
  }

  /** Hands over what was collected, and begins anew. */
  take(): HeaderBlock {
    const block = new HeaderBlock({
      names: this.#names,
      values: this.#values,
      listBytes: this.#bytes,
      tooLarge: this.#tooLarge,
    });
    this.#names = [];
    this.#values = [];
    this.#bytes = 0;
    this.#tooLarge = false;
    return block;
  }
}
