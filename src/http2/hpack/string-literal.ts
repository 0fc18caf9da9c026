import { type ByteWriter, grownCapacity } from '../../base/bytes.ts';
import type { BlockCursor } from './block-cursor.ts';
import { decodeHuffman, HUFFMAN_FAULT, huffmanLength, maxDecodedLength, writeHuffman } from './huffman.ts';
import { readInteger, writeInteger } from './integer.ts';

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
