import { type ByteWriter, grownCapacity } from '../../base/bytes.ts';
import { decodeHuffman, HUFFMAN_FAULT, huffmanLength, maxDecodedLength, writeHuffman } from './huffman.ts';

/**
 * A header block that breaks a rule of HPACK. This is always a connection error of type COMPRESSION_ERROR (RFC 9113,
 * 4.3): the dynamic tables of the two ends may differ afterwards, so no later block can be trusted.
 *
 * The message says what was found, at which octet of the block, and which section of RFC 7541 it violates. It never
 * contains octets of names or values, which may be secret.
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

/** The position in a header block: `bytes[position, end)` is still to be read. */
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

  /** Drops the reference to the bytes, which belong to the read buffer of a socket. */
  close(): void {
    this.open(NOTHING, 0, 0);
  }

  /** The fault for what begins at `position`, an index of `bytes`. */
  fault(section: string, message: string, position: number): HpackFault {
    return new HpackFault(section, message, position - this.#start);
  }
}

/**
 * Integers with an N-bit prefix (RFC 7541, 5.1). Functions take the prefix as its mask, 2^N - 1. The same value in the
 * prefix means that more octets follow.
 *
 * The RFC allows integers of any size and asks implementations to limit their value and length. Nothing that HPACK
 * counts (indexes, lengths, table sizes) exceeds the 32 bits of an HTTP/2 setting, which take five octets after the
 * prefix.
 */
const MAX_INTEGER = 0xffff_ffff;
const MAX_OCTETS_AFTER_PREFIX = 5;

/** Reads the integer whose prefix is at the cursor. The cursor must not be at the end. */
export function readInteger(cursor: BlockCursor, prefix: number): number {
  const value = cursor.bytes[cursor.position++] & prefix;
  return value < prefix ? value : readOctetsAfterPrefix(cursor, prefix);
}

/**
 * Reads groups of seven bits, least significant first. Uses multiplication, because 35 bits do not fit a 32-bit shift.
 */
function readOctetsAfterPrefix(cursor: BlockCursor, prefix: number): number {
  const at = cursor.position - 1;
  let value = prefix;
  let weight = 1;
  for (let count = 0; count < MAX_OCTETS_AFTER_PREFIX; count++) {
    if (cursor.position >= cursor.end) throw cursor.fault('5.1', 'the block ends inside an integer', at);
    const octet = cursor.bytes[cursor.position++];
    value += (octet & 0x7f) * weight;
    weight *= 128;
    if (octet < 0x80) {
      if (value > MAX_INTEGER) throw cursor.fault('5.1', 'integer above 2^32 - 1', at);
      return value;
    }
  }
  throw cursor.fault('5.1', `integer longer than ${1 + MAX_OCTETS_AFTER_PREFIX} octets`, at);
}

/** Writes `value`. `pattern` has the bits of the first octet above the prefix. */
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
 * The first octet of a field or table size update: the pattern in its highest bits, and the mask of the integer prefix
 * in its lower bits (RFC 7541, 6).
 */
export interface Representation {
  readonly pattern: number;
  readonly prefix: number;
}

/** A field that is an entry of the static or dynamic table (6.1). */
export const INDEXED: Representation = { pattern: 0x80, prefix: 0x7f };

/** A literal field that is added to the dynamic table (6.2.1). */
export const LITERAL_TO_INDEX: Representation = { pattern: 0x40, prefix: 0x3f };

/** A change of the maximum size of the dynamic table (6.3). */
export const SIZE_UPDATE: Representation = { pattern: 0x20, prefix: 0x1f };

/** A literal field that is not added to the dynamic table (6.2.2). */
export const LITERAL: Representation = { pattern: 0x00, prefix: 0x0f };

/** The Huffman flag in the first octet of a string literal, and the prefix of its length (RFC 7541, 5.2). */
const HUFFMAN_CODED = 0x80;
const LENGTH_PREFIX = 0x7f;

/**
 * The octets of the literal that was read last. All decoders of a thread share it, so that idle connections need no
 * memory for it: a literal becomes a string before the next literal is read. It grows to the longest literal so far.
 * The limit on the length of a header block bounds it.
 */
let scratch = Buffer.alloc(1024);

/**
 * Checks the string literal at the cursor, moves past it and returns its decoded length in octets. `literalText` then
 * creates the string. These are two steps so that no string is created for a literal that is dropped.
 */
export function readLiteral(cursor: BlockCursor): number {
  const at = cursor.position;
  if (at >= cursor.end) throw cursor.fault('5.2', 'a string literal is missing', at);
  const coded = cursor.bytes[at] >= HUFFMAN_CODED;
  const length = readInteger(cursor, LENGTH_PREFIX);
  const start = cursor.position;
  const left = cursor.end - start;
  if (length > left)
    throw cursor.fault('5.2', `string literal of ${length} octets, but only ${left} remain`, at);
  cursor.position += length;
  reserveScratch(coded ? maxDecodedLength(length) : length);
  if (coded) return decodeToScratch(cursor, start);
  for (let i = 0; i < length; i++) scratch[i] = cursor.bytes[start + i];
  return length;
}

/** The literal that was read last, whose length is `length`, as a string with one character per octet. */
export function literalText(length: number): string {
  return scratch.toString('latin1', 0, length);
}

function reserveScratch(length: number): void {
  if (length > scratch.length) scratch = Buffer.alloc(grownCapacity(scratch.length, length));
}

/** Decodes the octets between `start` and the cursor. */
function decodeToScratch(cursor: BlockCursor, start: number): number {
  const length = decodeHuffman(cursor.bytes, start, cursor.position, scratch);
  if (length >= 0) return length;
  throw cursor.fault('5.2', HUFFMAN_FAULT_TEXTS[length], start);
}

const HUFFMAN_FAULT_TEXTS: Readonly<Record<number, string>> = {
  [HUFFMAN_FAULT.endOfString]: 'Huffman-coded string contains the EOS symbol',
  [HUFFMAN_FAULT.longPadding]: 'Huffman-coded string has more than 7 bits of padding',
  [HUFFMAN_FAULT.badPadding]: 'Huffman-coded string has padding bits other than 1',
};

/** Appends a string literal, Huffman-coded if that is shorter. Throws a TypeError for characters above U+00FF. */
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

/** Truncating a character to an octet would turn it into another one, possibly a line break, so it is rejected. */
function requireOctets(text: string): void {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) <= 0xff) continue;
    throw new TypeError(`character ${i} of a header name or value is not an octet; encode the text first`);
  }
}
