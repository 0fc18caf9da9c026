import { ByteWriter } from '../../base/bytes.ts';
import { INDEXED, LITERAL, writeInteger, writeLiteral } from './primitives.ts';
import { staticFieldIndex, staticNameIndex } from './static-table.ts';

/** Name, in lower case, and value. One character per octet; characters above U+00FF cause a TypeError. */
export type HeaderField = readonly [name: string, value: string];

/**
 * Encodes fields without the dynamic table (RFC 7541, 6). The octets are valid anywhere in a block and on every
 * connection, so that the fields that all responses share are encoded once. An encoder with a dynamic table is not
 * needed: the blocks of a server that repeats itself are constants, and the table would cost memory per connection.
 */
export function preencode(fields: readonly HeaderField[]): Uint8Array {
  const to = new ByteWriter();
  for (const [name, value] of fields) writeField(to, name, value);
  return to.take();
}

function writeField(to: ByteWriter, name: string, value: string): void {
  const index = staticFieldIndex(name, value);
  if (index !== 0) {
    writeInteger(to, INDEXED.pattern, INDEXED.prefix, index);
    return;
  }
  const nameIndex = staticNameIndex(name);
  writeInteger(to, LITERAL.pattern, LITERAL.prefix, nameIndex);
  if (nameIndex === 0) writeLiteral(to, name);
  writeLiteral(to, value);
}
