/** A typed array that serves as a column of a table. */
type Column = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** The column with twice the room; what it held is kept. */
export function doubled<C extends Column>(column: C, Type: new (length: number) => C): C {
  const larger = new Type(column.length * 2);
  larger.set(column);
  return larger;
}

/**
 * Empties a list and keeps its memory. `length = 0` is a call into the runtime of V8, which releases the memory, so the
 * next element needs new memory.
 */
export function empty(list: unknown[]): void {
  while (list.length > 0) list.pop();
}
