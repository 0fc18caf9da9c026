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

/** The lowest size of the interval and the one at its end (RFC 7541, 4.2). */
const MAX_SIZE_UPDATES = 2;

export interface HpackDecoderOptions extends HeaderListLimits {
  /**
   * The SETTINGS_HEADER_TABLE_SIZE that holds for the peer at first, in octets. On a connection that is 4096 until the
   * peer has acknowledged another value, which is then given to `setMaxTableSize`. The table never starts larger than
   * 4096: above that the peer has to say that it makes use of its permission.
   */
  readonly maxTableSize: number;
}

/**
 * Decodes the header blocks of one direction of a connection, in the order in which they came (RFC 7541).
 *
 * Nothing is checked that belongs to HTTP: names may be in upper case, values may hold any octet. Whether a literal was
 * marked as never indexed is not told, as nothing here sends a field on.
 */
export class HpackDecoder {
  readonly #table: DynamicTable;
  readonly #cache = new BlockCache();
  readonly #cursor = new BlockCursor();
  readonly #list: HeaderList;
  #maxTableSize: number;
  /** The lowest `#maxTableSize` since the last block. */
  #lowestMaxTableSize: number;

  constructor(options: HpackDecoderOptions) {
    this.#table = new DynamicTable(Math.min(options.maxTableSize, INITIAL_TABLE_SIZE));
    this.#list = new HeaderList(options);
    this.#maxTableSize = options.maxTableSize;
    this.#lowestMaxTableSize = options.maxTableSize;
  }

  /** To be called when the peer has acknowledged another SETTINGS_HEADER_TABLE_SIZE of ours (RFC 9113, 4.3.1). */
  setMaxTableSize(size: number): void {
    this.#maxTableSize = size;
    this.#lowestMaxTableSize = Math.min(this.#lowestMaxTableSize, size);
  }

  /**
   * Decodes the block `bytes[start, end)`: the fragments of a HEADERS frame and its CONTINUATION frames put together.
   * The bytes are not held on to. A list beyond the limits is no fault but `tooLarge`, and the table follows all the
   * same. Throws an `HpackFault`, after which the decoder must not be used again.
   */
  decode(bytes: Uint8Array, start: number, end: number): HeaderBlock {
    const version = this.#table.version;
    if (!this.#isUpdateDue()) {
      const kept = this.#cache.find(bytes, start, end, version);
      if (kept !== undefined) return kept;
    }
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

  /** The size updates that a block begins with (RFC 7541, 4.2 and 6.3). */
  #readSizeUpdates(): void {
    const cursor = this.#cursor;
    const start = cursor.position;
    const isDue = this.#isUpdateDue();
    let count = 0;
    for (; this.#isAtSizeUpdate(); count++) {
      if (count === MAX_SIZE_UPDATES)
        throw cursor.fault('4.2', `more than ${MAX_SIZE_UPDATES} table size updates`, cursor.position);
      const at = cursor.position;
      const size = readInteger(cursor, SIZE_UPDATE.prefix);
      const bound = isDue && count === 0 ? this.#lowestMaxTableSize : this.#maxTableSize;
      if (size > bound)
        throw cursor.fault('6.3', `a table size update to ${size} where ${bound} is allowed`, at);
      this.#table.resize(size);
    }
    if (isDue && count === 0)
      throw cursor.fault(
        '4.2',
        `no table size update to the acknowledged ${this.#lowestMaxTableSize}`,
        start,
      );
    this.#lowestMaxTableSize = this.#maxTableSize;
  }

  /** Our limit has gone below the size that the peer uses, so its next block begins with an update (RFC 9113, 4.3.1). */
  #isUpdateDue(): boolean {
    return this.#lowestMaxTableSize < this.#table.maxSize;
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
      else throw cursor.fault('4.2', 'a table size update behind the first field', cursor.position);
    }
  }

  /** A field of one of the tables (RFC 7541, 6.1). */
  #readIndexed(): void {
    const index = this.#readIndex(INDEXED.prefix);
    if (index === 0)
      throw this.#cursor.fault('6.1', 'an indexed field with index 0', this.#cursor.position - 1);
    const name = this.#nameAt(index);
    const value = index <= STATIC_ENTRIES ? STATIC_VALUES[index] : this.#table.value(index - STATIC_ENTRIES);
    if (this.#list.admit(fieldSize(name.length, value.length))) this.#list.push(name, value);
  }

  /** A literal that becomes the newest entry of the table (6.2.1), whether or not it is too much for the list. */
  #readLiteralToIndex(): void {
    const name = this.#readName(LITERAL_TO_INDEX.prefix);
    const value = literalText(readLiteral(this.#cursor));
    if (this.#list.admit(fieldSize(name.length, value.length))) this.#list.push(name, value);
    this.#table.add(name, value);
  }

  /** A literal that leaves the table alone (6.2.2, 6.2.3). */
  #readLiteral(): void {
    const name = this.#readName(LITERAL.prefix);
    const valueLength = readLiteral(this.#cursor);
    if (this.#list.admit(fieldSize(name.length, valueLength)))
      this.#list.push(name, literalText(valueLength));
  }

  /** The name of a literal field: by its index, or as a literal of its own when the index is 0. */
  #readName(prefix: number): string {
    const index = this.#readIndex(prefix);
    return index === 0 ? literalText(readLiteral(this.#cursor)) : this.#nameAt(index);
  }

  /** An index that is 0 or one of an entry: the static table comes first, then the dynamic one (2.3.3). */
  #readIndex(prefix: number): number {
    const at = this.#cursor.position;
    const index = readInteger(this.#cursor, prefix);
    const entries = STATIC_ENTRIES + this.#table.count;
    if (index > entries)
      throw this.#cursor.fault('2.3.3', `index ${index} where the tables have ${entries} entries`, at);
    return index;
  }

  #nameAt(index: number): string {
    return index <= STATIC_ENTRIES ? STATIC_NAMES[index] : this.#table.name(index - STATIC_ENTRIES);
  }
}

function isSizeUpdate(octet: number): boolean {
  return octet >= SIZE_UPDATE.pattern && octet < LITERAL_TO_INDEX.pattern;
}
