/** One name that a place in a document accepts. */
interface KnownName {
  /** The bytes of the name and its closing quote: comparing them finds the name and its end in one go. */
  readonly bytes: Uint8Array;
  /** The first of `bytes`, which tells most names apart. */
  readonly first: number;
  /** How many `bytes` there are. Kept here: asking a typed array for its length costs more than comparing a byte. */
  readonly length: number;
  readonly value: number;
}

/** The field names of a message, or the value names of an enum, to be recognised by their bytes. */
export interface NameTable {
  readonly names: readonly KnownName[];
  readonly values: ReadonlyMap<string, number>;
  /** All names as a fault lists them. */
  readonly accepted: string;
}

/** Builds a table from names to values of at least 0; names that mean the same have the same value. */
export function nameTable(values: Readonly<Record<string, number>>): NameTable {
  const pairs = Object.entries(values);
  return {
    names: pairs.map(([name, value]) => knownName(name, value)),
    values: new Map(pairs),
    accepted: pairs.map(([name]) => name).join(', '),
  };
}

function knownName(name: string, value: number): KnownName {
  const bytes = new TextEncoder().encode(`${name}"`);
  return { bytes, first: bytes[0], length: bytes.length, value };
}
