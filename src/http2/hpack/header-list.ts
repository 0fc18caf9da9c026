import { grownCapacity } from '../../base/bytes.ts';

/**
 * The header list of one decoded block. It is immutable except for `verdict`, and may be kept. When a block repeats,
 * the decoder can return the same object, so that the result of a validation is found again in `verdict`.
 */
export class HeaderBlock {
  /**
   * Names in the order of the block, one character per octet. They are neither validated nor converted to lower case.
   */
  readonly names: readonly string[];
  /** `values[i]` belongs to `names[i]`. One character per octet. */
  readonly values: readonly string[];
  /** Size of the whole list in octets, by the rule of SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, 6.5.2). */
  readonly listBytes: number;
  /** The list exceeds a limit of the decoder. `names` and `values` contain only the fields before that point. */
  readonly tooLarge: boolean;
  /**
   * The result of validating the list, written by the caller. It must depend on names and values alone. Initially
   * `undefined`.
   */
  verdict: unknown = undefined;

  constructor(fields: Omit<HeaderBlock, 'verdict'>) {
    this.names = fields.names;
    this.values = fields.values;
    this.listBytes = fields.listBytes;
    this.tooLarge = fields.tooLarge;
  }
}

/** Limits of a header list. */
export interface HeaderListLimits {
  /** SETTINGS_MAX_HEADER_LIST_SIZE of this end: octets of names and values, and 32 for each field (RFC 9113, 6.5.2). */
  readonly maxListBytes: number;
  /** Number of fields. */
  readonly maxFields: number;
}

/**
 * Collects the fields of a block up to the limits, and only counts the fields beyond them. A few octets can refer to a
 * large table entry many times (an HPACK bomb), so neither memory nor work per field may grow with the size of the
 * entry.
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

  /** Counts a field of this size (`fieldSize`). Returns whether to keep the field, by calling `push`. */
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

  /** Returns the collected list and starts a new one. */
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

/** Few are needed, because a connection carries few kinds of requests. */
const KEPT_BLOCKS = 4;
/** Longer blocks contain individual values, which are unlikely to repeat. */
const MAX_KEPT_BYTES = 1024;
/** One octet can stand for a field, so a short block can be a long list, which would use memory on idle connections. */
const MAX_KEPT_FIELDS = 100;

interface KeptBlock {
  /** The first `length` octets are the block. The memory is reused for the next block in this place. */
  bytes: Uint8Array;
  length: number;
  block: HeaderBlock;
}

/**
 * Recent blocks that did not change the dynamic table, by their bytes. The meaning of a block depends on its bytes and
 * on the table alone, so it stays the same while the table stays the same. A client that repeats a header block uses
 * the table from its second request on, and this cache from the third.
 */
export class BlockCache {
  readonly #kept: KeptBlock[] = [];
  /** Number of leading entries of `#kept` that belong to the current version of the table. */
  #count = 0;
  #version = -1;
  /** Index of the last block that was found or added: the most likely place of the next one. */
  #recent = 0;
  /** Index at which the next block is added; the places are used in turn. */
  #next = 0;

  /** The header list of the block `bytes[start, end)`, if it is cached for this version of the table. */
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

  /** Caches the header list of the block `bytes[start, end)`, unless it is too long. Copies the bytes. */
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

/** Compares backwards, because blocks of one client differ mostly at the end. */
function hasBytes(kept: KeptBlock, bytes: Uint8Array, start: number): boolean {
  for (let i = kept.length - 1; i >= 0; i--) {
    if (kept.bytes[i] !== bytes[start + i]) return false;
  }
  return true;
}
