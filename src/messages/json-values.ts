import { isUtf8 } from 'node:buffer';
import type { ByteWriter } from '../base/bytes.ts';
import { CHAR, describeAt, jsonFault } from './json-fault.ts';

/** The byte that each letter after a backslash stands for (RFC 8259, section 7); `u` is read apart. */
const SHORT_ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
);
const ACCEPTED_ESCAPES = String.raw`accepted are \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`;

/**
 * Finds the end of the string whose opening quote is at `quote`, and checks its characters; its escapes are left to
 * {@link decodeString}.
 *
 * @returns the offset of the closing quote
 * @throws JsonFault when there is none, at a raw control character, and for anything but UTF-8
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
  return `a string holds the control character 0x${hex} as it is: write \\u00${hex}`;
}

/**
 * Appends the content of a string, `bytes[start, end)` without its quotes, in UTF-8 with its escapes decoded.
 *
 * @throws JsonFault for an unknown escape, and for half of a surrogate pair: it has no UTF-8 form
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

/** Decodes the escape whose backslash is at `at`; returns the offset behind it. */
function decodeEscape(bytes: Uint8Array, at: number, end: number, writer: ByteWriter): number {
  if (bytes[at + 1] === CHAR.lowerU) return decodeUnicode(bytes, at, end, writer);
  const meant = SHORT_ESCAPES.get(bytes[at + 1]);
  if (meant === undefined) {
    const found = describeAt(bytes, at + 1);
    throw jsonFault(bytes, at, `a backslash may not stand before ${found}: ${ACCEPTED_ESCAPES}`);
  }
  writer.byte(meant);
  return at + 2;
}

/** Decodes the `\uXXXX` at `at`, both halves when it starts a surrogate pair; returns the offset behind it. */
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

/** The number that the four digits of the `\u` at `at` give. */
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

/** The value of a hexadecimal digit in either case; -1 if the character is not one. */
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

/** Which whole numbers a field takes, and how a fault names them. */
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

/** Digits of the largest number of 64 bits: whatever has more is out of every range. */
const MAX_DIGITS = 20;

/** The number of RFC 8259, section 6, in its parts: sign, whole part, fraction, exponent. */
const JSON_NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The value of a JSON number that is a whole number in any of its forms: `5`, `5.0`, `0.5e1`, `50e-1`. Worked out on
 * the decimal text, since a double would take 4294967295.0000001 for a whole number.
 *
 * @returns a bigint beyond 2^53 - 1; undefined when the text is no JSON number, has a fraction, or has more digits
 *   than 64 bits can need
 */
export function exactInteger(text: string): number | bigint | undefined {
  const parts = JSON_NUMBER.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  const digits = whole + fraction;
  const start = leadingZeros(digits);
  if (start === digits.length) return 0;
  const end = digits.length - trailingZeros(digits);
  // Where the last digit that is not 0 stands: 0 is the ones, 1 the tens, negative behind the point.
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  if (scale < 0 || end - start + scale > MAX_DIGITS) return undefined;
  const exact = BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(scale)}`);
  const value = Number(exact);
  return Number.isSafeInteger(value) ? value : exact;
}

// Loops, not regular expressions: /0+$/ takes quadratic time on a long run of zeros that does not end the text.

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
