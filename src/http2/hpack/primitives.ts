import { type ByteWriter, grownCapacity } from '../../base/bytes.ts';
import { decodeHuffman, HUFFMAN_FAULT, huffmanLength, maxDecodedLength, writeHuffman } from './huffman.ts';

/**
 * A header block that breaks a rule of HPACK. Whatever the rule, it is a connection error of type COMPRESSION_ERROR
 * (RFC 9113, 4.3): the tables of the two ends may differ from here on, so no later block can be trusted.
 *
 * The text says what was found, at which octet of the block and against which section of RFC 7541. It never holds
 * octets of names or values, which may be secret.
 */
export class HpackFault extends Error {
  /** The section of RFC 7541 that was broken, such as `5.1`. */
  readonly section: string;

  constructor(section: string, message: string, offset: number) {
    super(`${message}, at octet ${offset} of the header block (RFC 7541, ${section})`);
    this.name = 'HpackFault';
    this.section = section;
  }
}

const NOTHING = new Uint8Array(0);

/** Where reading has come to in a header block: `bytes[position, end)` is still to be read. */
export class BlockCursor {
  bytes: Uint8Array = NOTHING;
  position = 0;
  end = 0;
  #start = 0;

  open(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.#start = start;
  }

  /** Lets go of the bytes, which are part of a socket's read buffer. */
  close(): void {
    this.open(NOTHING, 0, 0);
  }

  /** A fault about what begins at `position`, which counts in `bytes`. */
  fault(section: string, message: string, position: number): HpackFault {
    return new HpackFault(section, message, position - this.#start);
  }
}

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

/** The first octet of a string literal: whether it is Huffman coded, and the prefix of its length (RFC 7541, 5.2). */
const HUFFMAN_CODED = 0x80;
const LENGTH_PREFIX = 0x7f;

/**
 * The octets of the literal that was read last. One for all decoders of a thread: a literal is made a string before the
 * next is read, and an idle connection needs no memory for it. It grows to fit the longest literal there has been,
 * which whoever collects the frames of a block keeps within bounds.
 */
let scratch = Buffer.alloc(1024);

/**
 * Checks the string literal at the cursor, moves behind it and returns its decoded length in octets. `literalText`
 * makes the string of it: two steps, so that nothing is made of a literal that is not wanted.
 */
export function readLiteral(cursor: BlockCursor): number {
  const at = cursor.position;
  if (at >= cursor.end) throw cursor.fault('5.2', 'a field that lacks a string literal', at);
  const coded = cursor.bytes[at] >= HUFFMAN_CODED;
  const length = readInteger(cursor, LENGTH_PREFIX);
  const start = cursor.position;
  const left = cursor.end - start;
  if (length > left)
    throw cursor.fault('5.2', `a string literal of ${length} octets where ${left} are left`, at);
  cursor.position += length;
  reserveScratch(coded ? maxDecodedLength(length) : length);
  if (coded) return decodeToScratch(cursor, start);
  for (let i = 0; i < length; i++) scratch[i] = cursor.bytes[start + i];
  return length;
}

/** The string of the literal that was read last and had this length; a character for each octet. */
export function literalText(length: number): string {
  return scratch.toString('latin1', 0, length);
}

function reserveScratch(length: number): void {
  if (length > scratch.length) scratch = Buffer.alloc(grownCapacity(scratch.length, length));
}

/** Decodes what lies between `start` and the cursor. */
function decodeToScratch(cursor: BlockCursor, start: number): number {
  const length = decodeHuffman(cursor.bytes, start, cursor.position, scratch);
  if (length >= 0) return length;
  throw cursor.fault('5.2', HUFFMAN_FAULT_TEXTS[length], start);
}

const HUFFMAN_FAULT_TEXTS: Readonly<Record<number, string>> = {
  [HUFFMAN_FAULT.endOfString]: 'a Huffman coded string that holds the code of EOS',
  [HUFFMAN_FAULT.longPadding]: 'a Huffman coded string with more than 7 bits of padding',
  [HUFFMAN_FAULT.badPadding]: 'a Huffman coded string whose padding is not all ones',
};

/** Appends a string literal, Huffman coded when that is shorter. Throws a TypeError for a character above U+00FF. */
export function writeLiteral(to: ByteWriter, text: string): void {
  requireOctets(text);
  const coded = huffmanLength(text);
  if (coded < text.length) {
    writeInteger(to, HUFFMAN_CODED, LENGTH_PREFIX, coded);
    writeHuffman(to, text);
    return;
  }
  writeInteger(to, 0, LENGTH_PREFIX, text.length);
  to.reserve(text.length);
  for (let i = 0; i < text.length; i++) to.byte(text.charCodeAt(i));
}

/** A character that is cut down to an octet becomes another one, perhaps a line end: better to refuse it. */
function requireOctets(text: string): void {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) <= 0xff) continue;
    throw new TypeError(`character ${i} of a header name or value is not an octet; encode the text first`);
  }
}
