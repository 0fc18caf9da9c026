/** A typed array that serves as a column of a table. */
type Column = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** Returns a copy of the column with twice the length. */
export function doubled<C extends Column>(column: C, Type: new (length: number) => C): C {
  const larger = new Type(column.length * 2);
  larger.set(column);
  return larger;
}

/** Replaces columns of a table with copies of twice the length. */
export function doubleColumns<N extends string>(table: Record<N, Column>, names: readonly N[]): void {
  for (const name of names) {
    const column = table[name];
    table[name] = doubled(column, column.constructor as new (length: number) => Column);
  }
}

/**
 * Empties a list and keeps its memory. `length = 0` is a call into the runtime of V8, which releases the memory, so the
 * next element needs new memory.
 */
export function empty(list: unknown[]): void {
  while (list.length > 0) list.pop();
}

/** Doubles the capacity `from` (at least 16) until it is at least `needed`. */
export function grownCapacity(from: number, needed: number): number {
  let capacity = Math.max(from, 16);
  while (capacity < needed) capacity *= 2;
  return capacity;
}

const utf8 = new TextEncoder();

/** The largest whole number that bitwise operations do not change. */
const MAX_INT = 0x7fff_ffff;

/**
 * A byte buffer that grows and is reused: `reset` keeps the memory.
 * `bytes` is replaced when the buffer grows, so do not keep a reference to it across a write.
 */
export class ByteWriter {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity = 256) {
    this.bytes = new Uint8Array(capacity);
  }

  reset(): void {
    this.length = 0;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(grownCapacity(this.bytes.length, needed));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Appends `source[start, end)`. Short parts are copied in a loop, because a view of them would cost more. */
  copy(source: Uint8Array, start: number, end: number): void {
    const count = end - start;
    this.reserve(count);
    const to = this.bytes;
    let at = this.length;
    if (count <= 64) for (let i = start; i < end; i++) to[at++] = source[i];
    else if (count === source.length) to.set(source, at);
    else to.set(source.subarray(start, end), at);
    this.length += count;
  }

  /** Appends text that is known to be ASCII. */
  ascii(text: string): void {
    const count = text.length;
    this.reserve(count);
    for (let i = 0; i < count; i++) this.bytes[this.length + i] = text.charCodeAt(i);
    this.length += count;
  }

  text(text: string): void {
    this.reserve(text.length * 3);
    this.length += utf8.encodeInto(text, this.bytes.subarray(this.length)).written;
  }

  /** Appends a whole number from 0 to 2^53 - 1 in decimal. */
  decimal(value: number): void {
    let digits = 1;
    for (let bound = 10; value >= bound; bound *= 10) digits++;
    this.reserve(digits);
    let rest = value;
    for (let at = this.length + digits - 1; at >= this.length; at--) {
      const tens = Math.floor(rest / 10);
      this.bytes[at] = 48 + (rest - tens * 10);
      rest = tens;
    }
    this.length += digits;
  }

  /** Appends a whole number from 0 to 2^53 - 1 as a protobuf varint. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    // Without `%`, which takes longer for a double than everything else here.
    while (rest > MAX_INT) {
      const high = Math.floor(rest / 128);
      this.bytes[this.length++] = (rest - high * 128) | 128;
      rest = high;
    }
    let low = rest | 0;
    while (low > 127) {
      this.bytes[this.length++] = (low & 127) | 128;
      low >>= 7;
    }
    this.bytes[this.length++] = low;
  }

  /** A view of the written bytes; valid until the next write. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** A copy of the written bytes. */
  take(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}
