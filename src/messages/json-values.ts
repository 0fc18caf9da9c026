import { isUtf8 } from 'node:buffer';
import type { ByteWriter } from '../base/bytes.ts';
import { CHAR, describeAt, jsonFault } from './json-fault.ts';

/** The meaning of each letter after a backslash (RFC 8259, section 7), except `u`. */
const SHORT_ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
);
const ACCEPTED_ESCAPES = String.raw`accepted: \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`;

/**
 * Finds the end of the string whose opening quote is at `quote` and checks its characters. {@link decodeString} checks
 * its escapes.
 *
 * @returns the offset of the closing quote
 * @throws JsonFault if there is no closing quote, for unescaped control characters and for invalid UTF-8
 */
export function checkString(bytes: Uint8Array, quote: number): number {
  const stop = bytes.length;
  let at = quote + 1;
  let ascii = true;
  for (; at < stop && bytes[at] !== CHAR.quote; at++) {
    const byte = bytes[at];
    if (byte < CHAR.space) throw jsonFault(bytes, at, rawControl(byte));
    if (byte === CHAR.backslash) at++;
    else if (byte >= 0x80) ascii = false;
  }
  if (at >= stop) throw jsonFault(bytes, quote, 'a string has no closing quote');
  if (!ascii && !isUtf8(bytes.subarray(quote + 1, at))) {
    throw jsonFault(bytes, quote, 'a string is not valid UTF-8: send the document in UTF-8');
  }
  return at;
}

function rawControl(byte: number): string {
  const hex = byte.toString(16).padStart(2, '0');
  return `a string contains the unescaped control character 0x${hex}: write \\u00${hex}`;
}

/**
 * Decodes the content of a string, `bytes[start, end)` without its quotes, and appends it in UTF-8.
 *
 * @throws JsonFault for unknown escapes and for lone surrogates, which UTF-8 cannot encode
 */
export function decodeString(bytes: Uint8Array, start: number, end: number, writer: ByteWriter): void {
  let at = start;
  while (at < end) {
    const run = at;
    while (at < end && bytes[at] !== CHAR.backslash) at++;
    writer.copy(bytes, run, at);
    if (at < end) at = decodeEscape(bytes, at, end, writer);
  }
}

/** Decodes the escape whose backslash is at `at`. Returns the offset after it. */
function decodeEscape(bytes: Uint8Array, at: number, end: number, writer: ByteWriter): number {
  if (bytes[at + 1] === CHAR.lowerU) return decodeUnicode(bytes, at, end, writer);
  const meant = SHORT_ESCAPES.get(bytes[at + 1]);
  if (meant === undefined) {
    const found = describeAt(bytes, at + 1);
    throw jsonFault(bytes, at, `a backslash before ${found} is not a valid escape; ${ACCEPTED_ESCAPES}`);
  }
  writer.byte(meant);
  return at + 2;
}

/** Decodes the `\uXXXX` at `at`, or both halves of a surrogate pair. Returns the offset after it. */
function decodeUnicode(bytes: Uint8Array, at: number, end: number, writer: ByteWriter): number {
  const unit = codeUnit(bytes, at, end);
  if (unit < 0xd800 || unit > 0xdfff) {
    writeCodePoint(writer, unit);
    return at + 6;
  }
  const paired = unit < 0xdc00 && bytes[at + 6] === CHAR.backslash && bytes[at + 7] === CHAR.lowerU;
  const low = paired ? codeUnit(bytes, at + 6, end) : 0;
  if (low < 0xdc00 || low > 0xdfff) {
    const half = `\\u${unit.toString(16)}`;
    throw jsonFault(
      bytes,
      at,
      `${half} is half of a surrogate pair: write both halves, as in \\ud83d\\ude00`,
    );
  }
  writeCodePoint(writer, 0x1_0000 + (unit - 0xd800) * 0x400 + (low - 0xdc00));
  return at + 12;
}

/** The value of the four digits of the `\u` at `at`. */
function codeUnit(bytes: Uint8Array, at: number, end: number): number {
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = i < end ? hexDigit(bytes[i]) : -1;
    if (digit < 0) {
      throw jsonFault(bytes, at, 'a \\u must be followed by four hexadecimal digits, as in \\u00e9');
    }
    unit = unit * 16 + digit;
  }
  return unit;
}

/** The value of a hexadecimal digit in upper or lower case; -1 if the byte is not a digit. */
function hexDigit(byte: number): number {
  if (byte >= CHAR.zero && byte <= CHAR.nine) return byte - CHAR.zero;
  const lower = byte | 0x20;
  return lower >= CHAR.lowerA && lower <= CHAR.lowerF ? lower - CHAR.lowerA + 10 : -1;
}

function writeCodePoint(writer: ByteWriter, point: number): void {
  if (point < 0x80) writer.byte(point);
  else if (point < 0x800) {
    writer.byte(0xc0 | (point >>> 6));
    writer.byte(0x80 | (point & 0x3f));
  } else {
    if (point < 0x1_0000) writer.byte(0xe0 | (point >>> 12));
    else {
      writer.byte(0xf0 | (point >>> 18));
      writer.byte(0x80 | ((point >>> 12) & 0x3f));
    }
    writer.byte(0x80 | ((point >>> 6) & 0x3f));
    writer.byte(0x80 | (point & 0x3f));
  }
}

/** The whole numbers that a field accepts, and their description for error messages. */
export interface IntegerRange {
  readonly min: number;
  readonly max: number | bigint;
  readonly accepted: string;
}

export const UINT32: IntegerRange = {
  min: 0,
  max: 0xffff_ffff,
  accepted: 'a whole number from 0 to 4294967295',
};
export const UINT64: IntegerRange = {
  min: 0,
  max: 0xffff_ffff_ffff_ffffn,
  accepted: 'a whole number from 0 to 18446744073709551615',
};
export const INT32: IntegerRange = {
  min: -0x8000_0000,
  max: 0x7fff_ffff,
  accepted: 'a whole number from -2147483648 to 2147483647',
};

/** Number of digits of the largest 64-bit number. Numbers with more digits are out of every range. */
const MAX_DIGITS = 20;

/** A number (RFC 8259, section 6) with the groups sign, whole part, fraction and exponent. */
const JSON_NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The value of a JSON number that is a whole number, in any of its forms: `5`, `5.0`, `0.5e1`, `50e-1`. Computed from
 * the decimal text, because as a double 4294967295.0000001 would be a whole number.
 *
 * @returns a bigint above 2^53 - 1; undefined if the text is not a JSON number, has a fraction, or has more digits than
 *   a 64-bit number
 */
export function exactInteger(text: string): number | bigint | undefined {
  const parts = JSON_NUMBER.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  const digits = whole + fraction;
  const start = leadingZeros(digits);
  if (start === digits.length) return 0;
  const end = digits.length - trailingZeros(digits);
  // Position of the last nonzero digit: 0 for the ones, 1 for the tens, negative after the decimal point.
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  if (scale < 0 || end - start + scale > MAX_DIGITS) return undefined;
  const exact = BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(scale)}`);
  const value = Number(exact);
  return Number.isSafeInteger(value) ? value : exact;
}

// Loops instead of regular expressions: /0+$/ takes quadratic time for a long run of zeros inside the text.

function leadingZeros(digits: string): number {
  let count = 0;
  while (count < digits.length && digits[count] === '0') count++;
  return count;
}

function trailingZeros(digits: string): number {
  let count = 0;
  while (count < digits.length && digits[digits.length - 1 - count] === '0') count++;
  return count;
}
