import { ByteWriter } from '../../base/bytes.ts';
import { DynamicTable, fieldSize, INITIAL_TABLE_SIZE } from './dynamic-table.ts';
import {
  INDEXED,
  LITERAL,
  LITERAL_NEVER_INDEXED,
  LITERAL_TO_INDEX,
  type Representation,
  SIZE_UPDATE,
  writeInteger,
  writeLiteral,
} from './primitives.ts';
import { STATIC_ENTRIES, staticFieldIndex, staticNameIndex } from './static-table.ts';

/**
 * How to encode a field:
 *
 * - `index`: with the dynamic table, to which it is added the first time; for fields that will be sent again
 * - `plain`: without the dynamic table
 * - `never`: without the dynamic table and marked so that intermediaries do not index it either; for secrets (RFC 7541,
 *   7.1.3)
 */
export type Indexing = 'index' | 'plain' | 'never';

/** Name, in lower case, and value. One character per octet; characters above U+00FF cause a TypeError. */
export type HeaderField = readonly [name: string, value: string];

/**
 * Encodes the header blocks of one direction of a connection, in the order in which they are sent (RFC 7541).
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
    else if (indexing === 'plain') writePlainField(to, name, value);
    else writeLiteralField(to, LITERAL_NEVER_INDEXED, staticNameIndex(name), name, value);
  }

  #resize(to: ByteWriter, maxSize: number): void {
    writeInteger(to, SIZE_UPDATE.pattern, SIZE_UPDATE.prefix, maxSize);
    this.#table.resize(maxSize);
  }

  #indexedField(to: ByteWriter, name: string, value: string): void {
    if (this.#maxSize !== this.#table.maxSize || this.#lowestMaxSize < this.#maxSize)
      throw new Error(
        'the size of the HPACK table has changed; call startBlock before the fields of a block',
      );
    const index = staticFieldIndex(name, value) || this.#behindStatic(this.#table.fieldIndex(name, value));
    if (index !== 0) {
      writeInteger(to, INDEXED.pattern, INDEXED.prefix, index);
      return;
    }
    const nameIndex = staticNameIndex(name) || this.#behindStatic(this.#table.nameIndex(name));
    // An entry that is larger than the table would only empty it.
    const fits = this.#table.hasRoomFor(fieldSize(name.length, value.length));
    writeLiteralField(to, fits ? LITERAL_TO_INDEX : LITERAL, nameIndex, name, value);
    if (fits) this.#table.add(name, value);
  }

  /** Converts an index of the dynamic table to one of both tables (2.3.3). */
  #behindStatic(index: number): number {
    return index === 0 ? 0 : STATIC_ENTRIES + index;
  }
}

/**
 * The octets of `plain` fields. They are valid anywhere in a block and on every connection, so that the fields that all
 * responses share are encoded once.
 */
export function preencode(fields: readonly HeaderField[]): Uint8Array {
  const to = new ByteWriter();
  for (const [name, value] of fields) writePlainField(to, name, value);
  return to.take();
}

function writePlainField(to: ByteWriter, name: string, value: string): void {
  const index = staticFieldIndex(name, value);
  if (index !== 0) writeInteger(to, INDEXED.pattern, INDEXED.prefix, index);
  else writeLiteralField(to, LITERAL, staticNameIndex(name), name, value);
}

/** Appends a literal field. If `nameIndex` is 0, the name is a literal as well. */
function writeLiteralField(
  to: ByteWriter,
  { pattern, prefix }: Representation,
  nameIndex: number,
  name: string,
  value: string,
): void {
  writeInteger(to, pattern, prefix, nameIndex);
  if (nameIndex === 0) writeLiteral(to, name);
  writeLiteral(to, value);
}
