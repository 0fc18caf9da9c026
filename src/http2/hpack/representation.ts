/**
 * How a field or a table size update begins: the highest bits of its first octet, and the mask of the integer prefix in
 * the lower ones (RFC 7541, 6).
 */
export interface Representation {
  readonly pattern: number;
  readonly prefix: number;
}

/** A field that is in one of the tables (6.1). */
export const INDEXED: Representation = { pattern: 0x80, prefix: 0x7f };

/** A literal field that becomes an entry of the dynamic table (6.2.1). */
export const LITERAL_TO_INDEX: Representation = { pattern: 0x40, prefix: 0x3f };

/** A change of the dynamic table's bound (6.3). */
export const SIZE_UPDATE: Representation = { pattern: 0x20, prefix: 0x1f };

/** A literal field that nobody may put into a table on its way (6.2.3). */
export const LITERAL_NEVER_INDEXED: Representation = { pattern: 0x10, prefix: 0x0f };

/** A literal field that is not put into the table (6.2.2). */
export const LITERAL: Representation = { pattern: 0x00, prefix: 0x0f };
