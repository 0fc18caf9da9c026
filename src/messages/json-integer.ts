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
