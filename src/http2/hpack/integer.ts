import type { ByteWriter } from '../../base/bytes.ts';
import type { BlockCursor } from './block-cursor.ts';

/**
 * Integers with an N-bit prefix (RFC 7541, 5.1). A prefix is given as its mask, 2^N - 1, which is also the value that
 * says that more octets follow.
 *
 * The RFC lets integers be of any size and asks for limits in value and in length. Nothing that HPACK counts (indexes,
 * lengths, table sizes) exceeds the 32 bits of an HTTP/2 setting, which needs five octets after the prefix.
 */
const MAX_INTEGER = 0xffff_ffff;
const MAX_OCTETS_AFTER_PREFIX = 5;

/** Reads the integer whose prefix is at the cursor; the cursor must not be at the end. */
export function readInteger(cursor: BlockCursor, prefix: number): number {
  const value = cursor.bytes[cursor.position++] & prefix;
  return value < prefix ? value : readOctetsAfterPrefix(cursor, prefix);
}

/** Octets of seven bits, the lowest first. The sum is a double: 35 bits do not fit a 32-bit shift. */
function readOctetsAfterPrefix(cursor: BlockCursor, prefix: number): number {
  const at = cursor.position - 1;
  let value = prefix;
  let weight = 1;
  for (let count = 0; count < MAX_OCTETS_AFTER_PREFIX; count++) {
    if (cursor.position >= cursor.end)
      throw cursor.fault('5.1', 'an integer that the block ends in the midst of', at);
    const octet = cursor.bytes[cursor.position++];
    value += (octet & 0x7f) * weight;
    weight *= 128;
    if (octet < 0x80) {
      if (value > MAX_INTEGER) throw cursor.fault('5.1', 'an integer above 2^32 - 1', at);
      return value;
    }
  }
  throw cursor.fault('5.1', `an integer of more than ${1 + MAX_OCTETS_AFTER_PREFIX} octets`, at);
}

/** Writes `value` behind the bits of `pattern`, which lie above the prefix in its first octet. */
export function writeInteger(to: ByteWriter, pattern: number, prefix: number, value: number): void {
  if (value < prefix) {
    to.byte(pattern | value);
    return;
  }
  to.byte(pattern | prefix);
  let rest = value - prefix;
  for (; rest >= 128; rest = Math.floor(rest / 128)) to.byte((rest % 128) | 0x80);
  to.byte(rest);
}
