/** The initial SETTINGS_HEADER_TABLE_SIZE: the maximum size of the dynamic table, in octets (RFC 9113, 6.5.2). */
export const INITIAL_TABLE_SIZE = 4096;

/** Added to the lengths of name and value for the size of an entry (RFC 7541, 4.1). */
const ENTRY_OVERHEAD = 32;

/**
 * The size of a field in octets, as counted for the dynamic table (RFC 7541, 4.1) and header lists (RFC 9113, 6.5.2).
 */
export function fieldSize(nameLength: number, valueLength: number): number {
  return nameLength + valueLength + ENTRY_OVERHEAD;
}

/** Number of slots when the first entry is added. */
const FIRST_CAPACITY = 16;

/**
 * The dynamic table (RFC 7541, 2.3.2 and 4): a queue of fields, the newest first, with a maximum size in octets.
 *
 * It is a ring buffer whose number of slots is a power of two. Indexes are those of the dynamic table alone: 1 is the
 * newest entry and `count` the oldest. They count down from the slot of the next entry:
 *
 *     slot    │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │
 *     entry   │   │   │ a │ b │ c │   │   │   │      a was added first
 *     index   │   │   │ 3 │ 2 │ 1 │ ▲ │   │   │      ▲ #next
 *
 * The ring doubles when it is full. `maxSize` bounds it, because every entry counts at least 32 octets.
 */
export class DynamicTable {
  #names: string[] = [];
  #values: string[] = [];
  #next = 0;
  #count = 0;
  #size = 0;
  #maxSize: number;
  #version = 0;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** Number of entries. */
  get count(): number {
    return this.#count;
  }

  /** Total size of the entries in octets. */
  get size(): number {
    return this.#size;
  }

  /** Maximum of `size`. */
  get maxSize(): number {
    return this.#maxSize;
  }

  /** Changes with every change of the table: while it stays the same, every index has the same meaning. */
  get version(): number {
    return this.#version;
  }

  /** The name at an index from 1 to `count`. */
  name(index: number): string {
    return this.#names[(this.#next - index) & (this.#names.length - 1)];
  }

  /** The value at an index from 1 to `count`. */
  value(index: number): string {
    return this.#values[(this.#next - index) & (this.#values.length - 1)];
  }

  /** Evicts entries until the field fits, and adds it. A field larger than the table only empties the table (4.4). */
  add(name: string, value: string): void {
    this.#version++;
    const size = fieldSize(name.length, value.length);
    this.#evictDownTo(this.#maxSize - size);
    if (size > this.#maxSize) return;
    if (this.#count === this.#names.length) this.#grow();
    this.#names[this.#next] = name;
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) & (this.#names.length - 1);
    this.#count++;
    this.#size += size;
  }

  /** Changes the maximum size and evicts entries beyond it (4.3). */
  resize(maxSize: number): void {
    this.#version++;
    this.#maxSize = maxSize;
    this.#evictDownTo(maxSize);
  }

  #evictDownTo(size: number): void {
    while (this.#size > size && this.#count > 0) {
      const oldest = (this.#next - this.#count) & (this.#names.length - 1);
      this.#size -= fieldSize(this.#names[oldest].length, this.#values[oldest].length);
      this.#count--;
      // Frees the strings, even if the slot stays unused for long.
      this.#names[oldest] = '';
      this.#values[oldest] = '';
    }
  }

  /** Doubles the full ring and moves its entries to the front, the oldest first. */
  #grow(): void {
    const names: string[] = [];
    const values: string[] = [];
    for (let index = this.#count; index > 0; index--) {
      names.push(this.name(index));
      values.push(this.value(index));
    }
    const capacity = Math.max(this.#count * 2, FIRST_CAPACITY);
    for (let slot = this.#count; slot < capacity; slot++) {
      names.push('');
      values.push('');
    }
    this.#names = names;
    this.#values = values;
    this.#next = this.#count;
  }
}
