import { grownCapacity } from '../../base/bytes.ts';

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

/** A connection carries few kinds of requests. */
const KEPT_BLOCKS = 4;
/** Longer blocks hold values of their own, which are unlikely to come again. */
const MAX_KEPT_BYTES = 1024;
/** An octet can stand for a field, so that a short block can be a long list, which would cost idle connections memory. */
const MAX_KEPT_FIELDS = 100;

interface KeptBlock {
  /** The first `length` octets are the block's; the memory is used again for the next block in this place. */
  bytes: Uint8Array;
  length: number;
  block: HeaderBlock;
}

/**
 * The last few blocks that left the dynamic table as it was, by their bytes. What bytes mean follows from them and the
 * table alone, so while the table stays the same they mean the same header list. A caller that repeats itself refers
 * to its table from the second request on, and is found here from the third.
 */
export class BlockCache {
  readonly #kept: KeptBlock[] = [];
  /** Only the first so many of `#kept` were decoded with the table's present version. */
  #count = 0;
  #version = -1;
  /** Where the last block was found or put: most likely the next one is there as well. */
  #recent = 0;
  /** Where the next block is put, in turn. */
  #next = 0;

  /** The header list that `bytes[start, end)` stands for, if it was kept with this version of the table. */
  find(bytes: Uint8Array, start: number, end: number, version: number): HeaderBlock | undefined {
    if (version !== this.#version) return undefined;
    let place = this.#recent;
    for (let tried = 0; tried < this.#count; tried++) {
      const kept = this.#kept[place];
      if (kept.length === end - start && hasBytes(kept, bytes, start)) {
        this.#recent = place;
        return kept.block;
      }
      place = place + 1 < this.#count ? place + 1 : 0;
    }
    return undefined;
  }

  /** Keeps what `bytes[start, end)` was decoded to, unless it is too long. The bytes are copied. */
  keep(bytes: Uint8Array, start: number, end: number, version: number, block: HeaderBlock): void {
    const length = end - start;
    if (length > MAX_KEPT_BYTES || block.names.length > MAX_KEPT_FIELDS) return;
    if (version !== this.#version) {
      this.#version = version;
      this.#count = 0;
      this.#next = 0;
    }
    const place = this.#next;
    this.#next = (place + 1) % KEPT_BLOCKS;
    this.#count = Math.max(this.#count, place + 1);
    this.#recent = place;
    this.#kept[place] ??= { bytes: new Uint8Array(0), length: 0, block };
    const kept = this.#kept[place];
    if (length > kept.bytes.length) kept.bytes = new Uint8Array(grownCapacity(kept.bytes.length, length));
    for (let i = 0; i < length; i++) kept.bytes[i] = bytes[start + i];
    kept.length = length;
    kept.block = block;
  }
}

/** Compares from the end, which is where blocks of one caller differ most often. */
function hasBytes(kept: KeptBlock, bytes: Uint8Array, start: number): boolean {
  for (let i = kept.length - 1; i >= 0; i--) {
    if (kept.bytes[i] !== bytes[start + i]) return false;
  }
  return true;
}
