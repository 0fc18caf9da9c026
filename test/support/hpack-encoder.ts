import type { ByteWriter } from '../../src/base/bytes.ts';
import { DynamicTable, fieldSize, INITIAL_TABLE_SIZE } from '../../src/http2/hpack/dynamic-table.ts';
import { preencode } from '../../src/http2/hpack/encoder.ts';
import {
  INDEXED,
  LITERAL,
  LITERAL_TO_INDEX,
  type Representation,
  SIZE_UPDATE,
  writeInteger,
  writeLiteral,
} from '../../src/http2/hpack/primitives.ts';
import { STATIC_ENTRIES, staticFieldIndex, staticNameIndex } from '../../src/http2/hpack/static-table.ts';

/**
 * How to encode a field:
 *
 * - `index`: with the dynamic table, to which it is added the first time; for fields that will be sent again
 * - `plain`: without the dynamic table
 * - `never`: without the dynamic table and marked so that intermediaries do not index it either; for secrets (RFC
 *   7541, 7.1.3)
 */
export type Indexing = 'index' | 'plain' | 'never';

/** A literal field that intermediaries must not index either (RFC 7541, 6.2.3). */
const LITERAL_NEVER_INDEXED: Representation = { pattern: 0x10, prefix: 0x0f };

/**
 * Encodes the header blocks of one direction of a connection with the dynamic table, as clients do (RFC 7541). The
 * server itself only sends pre-encoded blocks.
 *
 * Every block begins with `startBlock`. Fields and octets from `preencode` follow in any order.
 */
export class HpackEncoder {
  readonly #table = new DynamicTable(INITIAL_TABLE_SIZE);
  readonly #ownMaxSize: number;
  /** The maximum table size from the next block on. */
  #maxSize: number;
  /** The lowest `#maxSize` since the last block, which has to be announced as well (4.2). */
  #lowestMaxSize: number;

  /**
   * `maxTableSize` limits the dynamic table in octets, even if the peer allows more; 0 disables the table. Fields are
   * looked up with a linear search, so keep it small: 4096 octets are at most 128 entries.
   */
  constructor(options: { readonly maxTableSize: number }) {
    this.#ownMaxSize = options.maxTableSize;
    this.#maxSize = Math.min(options.maxTableSize, INITIAL_TABLE_SIZE);
    this.#lowestMaxSize = this.#maxSize;
  }

  /** Call this with each SETTINGS_HEADER_TABLE_SIZE of the peer, in octets, before acknowledging it. */
  setPeerTableSize(size: number): void {
    this.#maxSize = Math.min(size, this.#ownMaxSize);
    this.#lowestMaxSize = Math.min(this.#lowestMaxSize, this.#maxSize);
  }

  /** Begins a block. Announces a changed table size, which is only allowed at the beginning (4.2). */
  startBlock(to: ByteWriter): void {
    if (this.#lowestMaxSize < this.#table.maxSize) this.#resize(to, this.#lowestMaxSize);
    if (this.#maxSize !== this.#table.maxSize) this.#resize(to, this.#maxSize);
    this.#lowestMaxSize = this.#maxSize;
  }

  /** Appends a field to the block. */
  field(to: ByteWriter, name: string, value: string, indexing: Indexing): void {
    if (indexing === 'index') this.#indexedField(to, name, value);
    else if (indexing === 'plain') {
      const bytes = preencode([[name, value]]);
      to.copy(bytes, 0, bytes.length);
    } else writeLiteralField(to, LITERAL_NEVER_INDEXED, staticNameIndex(name), [name, value]);
  }

  #resize(to: ByteWriter, maxSize: number): void {
    writeInteger(to, SIZE_UPDATE.pattern, SIZE_UPDATE.prefix, maxSize);
    this.#table.resize(maxSize);
  }

  #indexedField(to: ByteWriter, name: string, value: string): void {
    const index = staticFieldIndex(name, value) || this.#findEntry(name, value);
    if (index !== 0) {
      writeInteger(to, INDEXED.pattern, INDEXED.prefix, index);
      return;
    }
    const nameIndex = staticNameIndex(name) || this.#findEntry(name, null);
    // An entry that is larger than the table would only empty it.
    const fits = fieldSize(name.length, value.length) <= this.#table.maxSize;
    writeLiteralField(to, fits ? LITERAL_TO_INDEX : LITERAL, nameIndex, [name, value]);
    if (fits) this.#table.add(name, value);
  }

  /** The index of the newest entry of the dynamic table with this name, and this value unless null; 0 if there is none. */
  #findEntry(name: string, value: string | null): number {
    const table = this.#table;
    for (let index = 1; index <= table.count; index++) {
      if (table.name(index) !== name || (value !== null && table.value(index) !== value)) continue;
      return STATIC_ENTRIES + index;
    }
    return 0;
  }
}

/** Appends a literal field. If `nameIndex` is 0, the name is a literal as well. */
function writeLiteralField(
  to: ByteWriter,
  { pattern, prefix }: Representation,
  nameIndex: number,
  [name, value]: readonly [name: string, value: string],
): void {
  writeInteger(to, pattern, prefix, nameIndex);
  if (nameIndex === 0) writeLiteral(to, name);
  writeLiteral(to, value);
}
