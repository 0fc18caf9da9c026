/** A typed array that serves as a column of a table. */
export type Column = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** The column with twice the room; what it held is kept. */
export function doubled<C extends Column>(column: C, Type: new (length: number) => C): C {
  const larger = new Type(column.length * 2);
  larger.set(column);
  return larger;
}
