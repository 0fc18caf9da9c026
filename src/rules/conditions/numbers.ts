/** Reads numbers from bytes, and gives them an order in words: a range of numbers is then an interval. */

const [DOT, MINUS, ZERO, NINE] = [0x2e, 0x2d, 0x30, 0x39];

/** The longest text that is a number. More digits than a number keeps are rounded. */
const LONGEST_NUMBER = 32;

/** Words of a number in order. */
export const NUMBER_WORDS = 2;

const FLOAT = new Float64Array(1);
const FLOAT_WORDS = new Int32Array(FLOAT.buffer);
/** The place of the high word in a double. */
const HIGH = new Uint8Array(new Float64Array([-0]).buffer)[7] === 0x80 ? 1 : 0;

/**
 * Reads a decimal number: digits with an optional minus and an optional fraction, without an exponent. NaN for other texts.
 * Up to 15 digits are exact.
 */
export function readNumber(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > LONGEST_NUMBER) return Number.NaN;
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (first >= end) return Number.NaN;
  let value = 0;
  let divisor = 0;
  for (let at = first; at < end; at++) {
    const byte = bytes[at];
    if (byte >= ZERO && byte <= NINE) {
      value = value * 10 + byte - ZERO;
      divisor *= 10;
    } else if (byte === DOT && divisor === 0 && at > first && at < end - 1) divisor = 1;
    else return Number.NaN;
  }
  const number = divisor === 0 ? value : value / divisor;
  return isNegative ? -number : number;
}

/** Writes a number, not NaN, so that the order of the words, without a sign, is that of the numbers. */
export function writeOrdered(number: number, words: Int32Array): void {
  // There are two zeros.
  FLOAT[0] = number === 0 ? 0 : number;
  const high = FLOAT_WORDS[HIGH];
  const low = FLOAT_WORDS[1 - HIGH];
  words[0] = high < 0 ? ~high : high ^ (1 << 31);
  words[1] = high < 0 ? ~low : low;
}

/** The same as one number of 64 bits. */
export function orderedNumber(number: number): bigint {
  const words = new Int32Array(NUMBER_WORDS);
  writeOrdered(number, words);
  return (BigInt(words[0] >>> 0) << 32n) | BigInt(words[1] >>> 0);
}
