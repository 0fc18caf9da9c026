/** The bound of a connection's dynamic table until one of its ends says otherwise, in octets (RFC 9113, 6.5.2). */
export const INITIAL_TABLE_SIZE = 4096;

/** What an entry counts beside the octets of its name and value (RFC 7541, 4.1). */
const ENTRY_OVERHEAD = 32;

/** The size of a field by the rule that bounds the dynamic table (RFC 7541, 4.1) and header lists (RFC 9113, 6.5.2). */
export function fieldSize(nameLength: number, valueLength: number): number {
  return nameLength + valueLength + ENTRY_OVERHEAD;
}

/** Slots of a table that holds its first entry. */
const FIRST_CAPACITY = 16;

/**
 * The dynamic table (RFC 7541, 2.3.2 and 4): a queue of fields, the newest first, within a bound in octets.
 *
 * It is a ring whose number of slots is a power of two. Indexes are those of the dynamic table alone, so 1 is the
 * newest entry and `count` the oldest; they count down from the slot that the next entry will take:
 *
 *     slot    │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │
 *     entry   │   │   │ a │ b │ c │   │   │   │      a was added first
 *     index   │   │   │ 3 │ 2 │ 1 │ ▲ │   │   │      ▲ #next
 *
 * The ring doubles as entries come. Its bound follows from `maxSize`, since no entry counts fewer than 32 octets.
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

  /** What the entries count together, in octets. */
  get size(): number {
    return this.#size;
  }

  /** The bound of `size`. */
  get maxSize(): number {
    return this.#maxSize;
  }

  /** Another number after every change: while it stays the same, so does what each index means. */
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

  /** Whether an entry of this size would stay in the table. */
  hasRoomFor(size: number): boolean {
    return size <= this.#maxSize;
  }

  /** Adds a field after evicting what it leaves no room for; one beyond the bound only empties the table (4.4). */
  add(name: string, value: string): void {
    this.#version++;
    const size = fieldSize(name.length, value.length);
    this.#evictDownTo(this.#maxSize - size);
    if (!this.hasRoomFor(size)) return;
    if (this.#count === this.#names.length) this.#grow();
    this.#names[this.#next] = name;
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) & (this.#names.length - 1);
    this.#count++;
    this.#size += size;
  }

  /** Changes the bound, and evicts what is beyond it (4.3). */
  resize(maxSize: number): void {
    this.#version++;
    this.#maxSize = maxSize;
    this.#evictDownTo(maxSize);
  }

  /** The newest index with this name and value; 0 when there is none. */
  fieldIndex(name: string, value: string): number {
    for (let index = 1; index <= this.#count; index++) {
      if (this.value(index) === value && this.name(index) === name) return index;
    }
    return 0;
  }

  /** The newest index with this name; 0 when there is none. */
  nameIndex(name: string): number {
    for (let index = 1; index <= this.#count; index++) {
      if (this.name(index) === name) return index;
    }
    return 0;
  }

  #evictDownTo(size: number): void {
    while (this.#size > size && this.#count > 0) {
      const oldest = (this.#next - this.#count) & (this.#names.length - 1);
      this.#size -= fieldSize(this.#names[oldest].length, this.#values[oldest].length);
      this.#count--;
      // So that the strings are freed, however long the slot stays unused.
      this.#names[oldest] = '';
      this.#values[oldest] = '';
    }
  }

  /** Doubles a full ring. Its entries move to the front, the oldest first. */
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
