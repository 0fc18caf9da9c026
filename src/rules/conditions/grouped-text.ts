import type { ByteWriter } from '../../base/bytes.ts';
import { ADDRESS_WORDS, groupOf, readAddress } from './addresses.ts';
import { groupingOf } from './grouping.ts';

const [SLASH, DOT, COLON, QUESTION, HASH] = [0x2f, 0x2e, 0x3a, 0x3f, 0x23];
const HEX = Buffer.from('0123456789abcdef');

/** Reused, so that a decision allocates nothing. */
const ADDRESS = new Int32Array(ADDRESS_WORDS);

/**
 * Appends the part of a value that counts together: the network of an address, `10.1.2.0/24`, or the first segments of a path,
 * without its query. A value that is not an address stays as it is.
 *
 * @param flags those of the entry, with a grouping
 */
export function writeGroup(
  flags: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  to: ByteWriter,
): void {
  const segments = groupingOf(flags, 'segments');
  if (segments > 0) to.copy(bytes, start, endOfSegments(bytes, start, end, segments));
  else {
    const family = readAddress(bytes, start, end, ADDRESS);
    if (family === 4) writeIpv4(groupingOf(flags, 'ipv4Bits'), to);
    else if (family === 6) writeIpv6(groupingOf(flags, 'ipv6Bits'), to);
    else to.copy(bytes, start, end);
  }
}

function endOfSegments(bytes: Uint8Array, start: number, end: number, segments: number): number {
  let left = segments;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUESTION || byte === HASH) return at;
    // The slash before the first segment ends none.
    if (byte === SLASH && at > start && --left === 0) return at;
  }
  return end;
}

function writeIpv4(bits: number, to: ByteWriter): void {
  const network = bits === 0 ? 0 : ADDRESS[0] & (-1 << (32 - bits));
  for (let shift = 24; shift >= 0; shift -= 8) {
    to.decimal((network >>> shift) & 255);
    if (shift > 0) to.byte(DOT);
  }
  writeLength(bits, to);
}

/** The groups of the network up to the last one that is not zero, and `::` for the rest. */
function writeIpv6(bits: number, to: ByteWriter): void {
  let groups = 8;
  while (groups > 0 && networkGroup(groups - 1, bits) === 0) groups--;
  for (let group = 0; group < groups; group++) {
    writeHex(networkGroup(group, bits), to);
    if (group < 7) to.byte(COLON);
  }
  if (groups < 8) to.byte(COLON);
  if (groups === 0) to.byte(COLON);
  writeLength(bits, to);
}

/** A group of the address, without the bits after the prefix. */
function networkGroup(group: number, bits: number): number {
  const kept = Math.min(16, Math.max(0, bits - group * 16));
  return groupOf(ADDRESS, group) & (0xffff << (16 - kept)) & 0xffff;
}

function writeHex(value: number, to: ByteWriter): void {
  let shift = 12;
  while (shift > 0 && value >>> shift === 0) shift -= 4;
  for (; shift >= 0; shift -= 4) to.byte(HEX[(value >>> shift) & 15]);
}

function writeLength(bits: number, to: ByteWriter): void {
  to.byte(SLASH);
  to.decimal(bits);
}
