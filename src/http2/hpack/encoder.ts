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
 * How a field is sent:
 *
 * - `index`: as an entry of the dynamic table, which it becomes the first time; for what will be sent again
 * - `plain`: without the dynamic table
 * - `never`: the same, and marked so that nobody on its way indexes it either; for what is secret (RFC 7541, 7.1.3)
 */
export type Indexing = 'index' | 'plain' | 'never';

/** Name and value. A character is one octet; another one is refused with a TypeError. Names are in lower case. */
export type HeaderField = readonly [name: string, value: string];

/**
 * Encodes the header blocks of one direction of a connection, in the order in which they are sent (RFC 7541).
 *
 * Every block begins with `startBlock`; then come fields, and octets from `preencode`, in any order.
 */
export class HpackEncoder {
  readonly #table = new DynamicTable(INITIAL_TABLE_SIZE);
  readonly #ownMaxSize: number;
  /** The bound that the table gets when the next block starts. */
  #maxSize: number;
  /** The lowest `#maxSize` since the last block, which the peer has to be told as well (4.2). */
  #lowestMaxSize: number;

  /**
   * `maxTableSize` bounds the dynamic table in octets, whatever more the peer allows; 0 does without one. An indexed
   * field is looked for entry by entry, so the default of 4096 octets, 128 entries at most, is large enough.
   */
  constructor(options: { readonly maxTableSize: number }) {
    this.#ownMaxSize = options.maxTableSize;
    this.#maxSize = Math.min(options.maxTableSize, INITIAL_TABLE_SIZE);
    this.#lowestMaxSize = this.#maxSize;
  }

  /** To be called with each SETTINGS_HEADER_TABLE_SIZE of the peer, in octets, before it is acknowledged. */
  setPeerTableSize(size: number): void {
    this.#maxSize = Math.min(size, this.#ownMaxSize);
    this.#lowestMaxSize = Math.min(this.#lowestMaxSize, this.#maxSize);
  }

  /** Begins a block: tells the peer when the table's bound has changed, which only stands at the front (4.2). */
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
    // An entry that is too large would do nothing but empty the table.
    const fits = this.#table.hasRoomFor(fieldSize(name.length, value.length));
    writeLiteralField(to, fits ? LITERAL_TO_INDEX : LITERAL, nameIndex, name, value);
    if (fits) this.#table.add(name, value);
  }

  /** The index of an entry of the dynamic table among those of both tables (2.3.3). */
  #behindStatic(index: number): number {
    return index === 0 ? 0 : STATIC_ENTRIES + index;
  }
}

/**
 * The octets of `plain` fields. They mean the same wherever they stand in a block of whichever connection, so what
 * every response has in common is encoded once.
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

/** A literal field; its name is a literal as well when `nameIndex` is 0. */
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
