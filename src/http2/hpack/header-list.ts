/**
 * The header list of one decoded block. It does not change and may be kept, also when the same bytes come again: then
 * the decoder returns the same object, so what one reader learned of it the next need not find out again.
 */
export class HeaderBlock {
  /** Names in the order of the block. A character is one octet: nothing has been checked or lowered in case. */
  readonly names: readonly string[];
  /** `values[i]` belongs to `names[i]`. A character is one octet. */
  readonly values: readonly string[];
  /** Size of the whole list in octets, by the rule of SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, 6.5.2). */
  readonly listBytes: number;
  /** The list went beyond a limit of the decoder: `names` and `values` hold only what came before that. */
  readonly tooLarge: boolean;
  /**
   * The one thing that may be written: whoever validates header lists keeps the result here, of whatever type, and
   * finds it again when the block repeats. It must follow from names and values alone. `undefined` at first.
   */
  verdict: unknown = undefined;

  constructor(fields: Omit<HeaderBlock, 'verdict'>) {
    this.names = fields.names;
    this.values = fields.values;
    this.listBytes = fields.listBytes;
    this.tooLarge = fields.tooLarge;
  }
}

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
