/** Reads IP addresses from bytes, and networks from rule files. */

const [DOT, ZERO, NINE, COLON, PERCENT] = [0x2e, 0x30, 0x39, 0x3a, 0x25];

/** By byte: the value of a hex digit, or -1. */
const HEX_VALUES = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});

/** Words of an IPv6 address. */
export const ADDRESS_WORDS = 4;

/** The longest text that can be an address: 45 characters, and a zone. */
const LONGEST_ADDRESS = 45 + 64;

/** The first 96 bits of an IPv4 address that is written as an IPv6 address (RFC 4291, 2.5.5.2): the third word. */
const MAPPED = 0x0000ffff;

/** A network as rules have it. IPv4 networks that are written in IPv6 are IPv4 networks. */
export interface Network {
  readonly family: 4 | 6;
  /** The number of its first address. */
  readonly first: bigint;
  /** Length of the prefix in bits: up to 32 or 128. */
  readonly bits: number;
}

/**
 * Reads an address: dotted IPv4 without leading zeros, or IPv6 (RFC 4291, 2.2), whose zone is left out. IPv4 addresses that
 * are written in IPv6 are IPv4 addresses.
 *
 * @param words receives the address, the most significant word first; of an IPv4 address, the first word is all
 * @returns 4, 6, or 0 if it is not an address
 */
export function readAddress(bytes: Uint8Array, start: number, end: number, words: Int32Array): 0 | 4 | 6 {
  if (end - start > LONGEST_ADDRESS) return 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === COLON) return readIpv6(bytes, start, end, words);
    if (byte === DOT) return readIpv4(bytes, start, end, words) ? 4 : 0;
  }
  return 0;
}

/** Reads the whole text as dotted IPv4. */
function readIpv4(bytes: Uint8Array, start: number, end: number, words: Int32Array): boolean {
  let address = 0;
  let at = start;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && (at >= end || bytes[at++] !== DOT)) return false;
    const first = at;
    let value = 0;
    while (at < end && at - first < 3 && bytes[at] >= ZERO && bytes[at] <= NINE)
      value = value * 10 + bytes[at++] - ZERO;
    const hasLeadingZero = at - first > 1 && bytes[first] === ZERO;
    if (at === first || value > 255 || hasLeadingZero) return false;
    address = (address << 8) | value;
  }
  words[0] = address;
  return at === end;
}

/** Reused, so that a decision allocates nothing. */
const GROUPS = new Int32Array(8);
const DOTTED = new Int32Array(1);

function readIpv6(bytes: Uint8Array, start: number, to: number, words: Int32Array): 0 | 4 | 6 {
  const end = endOfAddress(bytes, start, to);
  /** Number of groups so far, and of those before the `::`; -1 without it. */
  let count = 0;
  let gap = -1;
  let at = start;
  if (bytes[at] === COLON) {
    if (end - at < 2 || bytes[at + 1] !== COLON) return 0;
    gap = 0;
    at += 2;
  }
  while (at < end) {
    const groupEnd = readGroup(bytes, at, end, count);
    if (groupEnd < end && bytes[groupEnd] === DOT) {
      if (count > 6 || !readIpv4(bytes, at, end, DOTTED)) return 0;
      GROUPS[count++] = DOTTED[0] >>> 16;
      GROUPS[count++] = DOTTED[0] & 0xffff;
      break;
    }
    if (count === 8 || groupEnd === at) return 0;
    count++;
    at = groupEnd;
    if (at === end) break;
    if (bytes[at] !== COLON || at + 1 === end) return 0;
    if (bytes[++at] !== COLON) continue;
    if (gap >= 0) return 0;
    gap = count;
    at++;
  }
  if (gap < 0 ? count !== 8 : count === 8) return 0;
  return writeGroups(words, count, gap < 0 ? 8 : gap);
}

/** Writes the groups, with zeros after the first `gap`. Returns the family. */
function writeGroups(words: Int32Array, count: number, gap: number): 4 | 6 {
  const zeros = 8 - count;
  for (let group = count - 1; group >= gap; group--) GROUPS[group + zeros] = GROUPS[group];
  for (let group = gap; group < gap + zeros; group++) GROUPS[group] = 0;
  for (let word = 0; word < ADDRESS_WORDS; word++)
    words[word] = (GROUPS[word * 2] << 16) | GROUPS[word * 2 + 1];
  if (words[0] !== 0 || words[1] !== 0 || words[2] !== MAPPED) return 6;
  words[0] = words[3];
  return 4;
}

/** Reads a group of up to four hex digits, the `count`-th of the address. Returns its end. */
function readGroup(bytes: Uint8Array, start: number, end: number, count: number): number {
  const last = Math.min(end, start + 4);
  let at = start;
  let value = 0;
  for (; at < last; at++) {
    const digit = HEX_VALUES[bytes[at]];
    if (digit < 0) break;
    value = (value << 4) | digit;
  }
  // A ninth group is written nowhere, and refused by the caller.
  GROUPS[count] = value;
  return at;
}

function endOfAddress(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) if (bytes[at] === PERCENT) return at;
  return end;
}

/** One of the eight groups of 16 bits of an address. */
export function groupOf(words: Int32Array, group: number): number {
  return (words[group >> 1] >>> (group % 2 === 0 ? 16 : 0)) & 0xffff;
}

/** Why a text is not a network, and what to write instead. */
interface NetworkFault {
  readonly fault: string;
}

/** Reads a network, `10.0.0.0/8`, or an address, which is a network of its own. */
export function readNetwork(text: string): Network | NetworkFault {
  const [address, length, more] = text.split('/');
  const words = new Int32Array(ADDRESS_WORDS);
  const bytes = Buffer.from(address);
  const family = address.includes('%') ? 0 : readAddress(bytes, 0, bytes.length, words);
  if (family === 0 || more !== undefined)
    return { fault: 'is not a network: write an address, a `/` and the number of bits, such as 10.0.0.0/8' };
  const isMapped = family === 4 && address.includes(':');
  const most = family === 4 && !isMapped ? 32 : 128;
  const written = length === undefined ? most : /^(0|[1-9][0-9]{0,2})$/.test(length) ? Number(length) : -1;
  const least = isMapped ? 96 : 0;
  if (written < least || written > most)
    return {
      fault: `has a length that is not from ${least} to ${most}: write the number of bits after the \`/\``,
    };
  const bits = isMapped ? written - 96 : written;
  const number = numberOf(words, family);
  const rest = BigInt((family === 4 ? 32 : 128) - bits);
  if ((number & ((1n << rest) - 1n)) !== 0n)
    return {
      fault: `has bits beyond its first ${written}: write ${addressText(family, (number >> rest) << rest)}/${bits} for the network, or ${addressText(family, number)} for the address`,
    };
  return { family, first: number, bits };
}

/** The number of an address. */
function numberOf(words: Int32Array, family: 4 | 6): bigint {
  if (family === 4) return BigInt(words[0] >>> 0);
  let number = 0n;
  for (let word = 0; word < ADDRESS_WORDS; word++) number = (number << 32n) | BigInt(words[word] >>> 0);
  return number;
}

/** A network as people write it. An address stands for itself. */
export function networkText({ family, first, bits }: Network): string {
  const address = addressText(family, first);
  return bits === (family === 4 ? 32 : 128) ? address : `${address}/${bits}`;
}

function addressText(family: 4 | 6, number: bigint): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map(shift => (number >> shift) & 255n).join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((number >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  const text = groups.join(':');
  const zeros = text.match(/\b0(?::0)+\b/g) ?? [];
  const longest = zeros.reduce((best, run) => (run.length > best.length ? run : best), '');
  return longest === '' ? text : text.replace(new RegExp(`(^|:)${longest}(:|$)`), '::');
}
