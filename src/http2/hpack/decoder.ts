import { DynamicTable, fieldSize, INITIAL_TABLE_SIZE } from './dynamic-table.ts';
import { BlockCache, type HeaderBlock, HeaderList, type HeaderListLimits } from './header-list.ts';
import {
  BlockCursor,
  INDEXED,
  LITERAL,
  LITERAL_TO_INDEX,
  literalText,
  readInteger,
  readLiteral,
  SIZE_UPDATE,
} from './primitives.ts';
import { STATIC_ENTRIES, STATIC_NAMES, STATIC_VALUES } from './static-table.ts';

/** One for the smallest size since the last block and one for the final size (RFC 7541, 4.2). */
const MAX_SIZE_UPDATES = 2;

/**
 * Decodes the header blocks of one direction of a connection, in the order of their arrival (RFC 7541).
 *
 * The decoder does not check rules of HTTP: names may be in upper case and values may contain any octet. It does not
 * report whether a literal was marked as never indexed, because the server forwards no fields. The dynamic table has the
 * size that connections start with, because the server does not announce another one.
 */
export class HpackDecoder {
  readonly #table = new DynamicTable(INITIAL_TABLE_SIZE);
  readonly #cache = new BlockCache();
  readonly #cursor = new BlockCursor();
  readonly #list: HeaderList;

  constructor(limits: HeaderListLimits) {
    this.#list = new HeaderList(limits);
  }

  /**
   * Decodes the block `bytes[start, end)`: the joined fragments of a HEADERS frame and its CONTINUATION frames. The
   * decoder keeps no reference to the bytes. A list beyond the limits is not a fault: the result is `tooLarge`, and the
   * dynamic table is still updated.
   *
   * @throws HpackFault if the block is invalid; the decoder must not be used afterwards
   */
  decode(bytes: Uint8Array, start: number, end: number): HeaderBlock {
    const version = this.#table.version;
    const kept = this.#cache.find(bytes, start, end, version);
    if (kept !== undefined) return kept;
    const block = this.#read(bytes, start, end);
    if (version === this.#table.version) this.#cache.keep(bytes, start, end, version, block);
    return block;
  }

  #read(bytes: Uint8Array, start: number, end: number): HeaderBlock {
    this.#cursor.open(bytes, start, end);
    this.#readSizeUpdates();
    this.#readFields();
    this.#cursor.close();
    return this.#list.take();
  }

  /** Reads the table size updates at the beginning of a block (RFC 7541, 4.2 and 6.3). */
  #readSizeUpdates(): void {
    const cursor = this.#cursor;
    for (let count = 0; this.#isAtSizeUpdate(); count++) {
      const at = cursor.position;
      if (count === MAX_SIZE_UPDATES)
        throw cursor.fault('4.2', `more than ${MAX_SIZE_UPDATES} table size updates`, at);
      const size = readInteger(cursor, SIZE_UPDATE.prefix);
      if (size > INITIAL_TABLE_SIZE) {
        const text = `table size update to ${size}, but at most ${INITIAL_TABLE_SIZE} is allowed`;
        throw cursor.fault('6.3', text, at);
      }
      this.#table.resize(size);
    }
  }

  #isAtSizeUpdate(): boolean {
    const { bytes, position, end } = this.#cursor;
    return position < end && isSizeUpdate(bytes[position]);
  }

  #readFields(): void {
    const cursor = this.#cursor;
    while (cursor.position < cursor.end) {
      const octet = cursor.bytes[cursor.position];
      if (octet >= INDEXED.pattern) this.#readIndexed();
      else if (octet >= LITERAL_TO_INDEX.pattern) this.#readLiteralToIndex();
      else if (octet < SIZE_UPDATE.pattern) this.#readLiteral();
      else throw cursor.fault('4.2', 'table size update after the first field', cursor.position);
    }
  }

  /** A field of the static or dynamic table (RFC 7541, 6.1). */
  #readIndexed(): void {
    const index = this.#readIndex(INDEXED.prefix);
    if (index === 0) throw this.#cursor.fault('6.1', 'indexed field with index 0', this.#cursor.position - 1);
    const name = this.#nameAt(index);
    const value = index <= STATIC_ENTRIES ? STATIC_VALUES[index] : this.#table.value(index - STATIC_ENTRIES);
    if (this.#list.admit(fieldSize(name.length, value.length))) this.#list.push(name, value);
  }

  /** A literal that becomes the newest entry of the dynamic table (6.2.1), even if the list is already too large. */
  #readLiteralToIndex(): void {
    const name = this.#readName(LITERAL_TO_INDEX.prefix);
    const value = literalText(readLiteral(this.#cursor));
    if (this.#list.admit(fieldSize(name.length, value.length))) this.#list.push(name, value);
    this.#table.add(name, value);
  }

  /** A literal that does not change the dynamic table (6.2.2, 6.2.3). */
  #readLiteral(): void {
    const name = this.#readName(LITERAL.prefix);
    const valueLength = readLiteral(this.#cursor);
    if (this.#list.admit(fieldSize(name.length, valueLength)))
      this.#list.push(name, literalText(valueLength));
  }

  /** Reads the name of a literal field: an index, or index 0 and a string literal. */
  #readName(prefix: number): string {
    const index = this.#readIndex(prefix);
    return index === 0 ? literalText(readLiteral(this.#cursor)) : this.#nameAt(index);
  }

  /**
   * Reads an index: 0, or that of an entry. The entries of the dynamic table follow those of the static table (2.3.3).
   */
  #readIndex(prefix: number): number {
    const at = this.#cursor.position;
    const index = readInteger(this.#cursor, prefix);
    const entries = STATIC_ENTRIES + this.#table.count;
    if (index > entries)
      throw this.#cursor.fault('2.3.3', `index ${index}, but the tables have ${entries} entries`, at);
    return index;
  }

  #nameAt(index: number): string {
    return index <= STATIC_ENTRIES ? STATIC_NAMES[index] : this.#table.name(index - STATIC_ENTRIES);
  }
}

function isSizeUpdate(octet: number): boolean {
  return octet >= SIZE_UPDATE.pattern && octet < LITERAL_TO_INDEX.pattern;
}
