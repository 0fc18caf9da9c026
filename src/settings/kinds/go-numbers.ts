/** Durations in the format of Go (`1m30s`), which deployments of the reference implementation use. */

/** Units, longest first. Micro has three spellings: `us`, with the micro sign, and with the Greek letter. */
const UNITS: readonly (readonly [string, bigint])[] = [
  ['h', 3_600_000_000_000n],
  ['m', 60_000_000_000n],
  ['s', 1_000_000_000n],
  ['ms', 1_000_000n],
  ['us', 1_000n],
  ['ns', 1n],
];
const UNIT_NS: ReadonlyMap<string, bigint> = new Map([...UNITS, ['\u00b5s', 1_000n], ['\u03bcs', 1_000n]]);

/** The reference implementation holds nanoseconds in 64 bits; a longer duration is an error there. */
const MAX_NS = 2n ** 63n - 1n;

/**
 * A sum of numbers with units, one sign in front: `1m30s`, `1.5h`, `-10s`. Only `0` may stand without a unit.
 * Whole nanoseconds are summed, so that `0.1s` and `100ms` are the same value.
 * @returns milliseconds (with a fraction below 1 ms), or null when the text is no duration
 */
export function parseDuration(text: string): number | null {
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0;
  const total = sumOfParts(unsigned);
  if (total === null || total > MAX_NS) return null;
  const ms = Number(total) / 1e6;
  return text.startsWith('-') && ms !== 0 ? -ms : ms;
}

function sumOfParts(text: string): bigint | null {
  const part = /(\d*)(?:\.(\d*))?([^\d.]+)/y;
  let total = 0n;
  do {
    const match = part.exec(text);
    if (match === null) return null;
    const [, whole, fraction = '', unit] = match;
    const unitNs = UNIT_NS.get(unit);
    if (unitNs === undefined || whole + fraction === '') return null;
    total += (BigInt(whole + fraction) * unitNs) / 10n ** BigInt(fraction.length);
  } while (part.lastIndex < text.length);
  return total;
}

/** The shortest text that {@link parseDuration} reads as `ms`: `24h`, `1m30s`, `150us`, `0`. */
export function formatDuration(ms: number): string {
  let rest = BigInt(Math.round(Math.abs(ms) * 1e6));
  if (rest === 0n) return '0';
  let text = ms < 0 ? '-' : '';
  for (const [unit, unitNs] of UNITS) {
    const count = rest / unitNs;
    if (count > 0n) text += `${count}${unit}`;
    rest -= count * unitNs;
  }
  return text;
}

/**
 * Numbers as Go reads them, because deployments of the reference implementation contain such texts: `010` is 8, not 10.
 */

const INTEGER =
  /^([+-]?)(0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

/**
 * Parses a whole number: decimal, `0x`, `0o`, `0b`, or octal with a leading zero; `_` between digits; a sign.
 * Values above 2^53 - 1 are rounded, so callers have to check the range.
 *
 * @returns null if the text is not a whole number
 */
export function parseInteger(text: string): number | null {
  const match = INTEGER.exec(text);
  if (match === null) return null;
  const digits = match[2].replaceAll('_', '');
  const value = Number(/^0[0-7]/.test(digits) ? `0o${digits}` : digits);
  return match[1] === '-' && value !== 0 ? -value : value;
}

const DIGITS = '[0-9](?:_?[0-9])*';
const HEX_DIGITS = '[0-9a-fA-F](?:_?[0-9a-fA-F])*';
const DECIMAL = new RegExp(`^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`);
const HEXADECIMAL = new RegExp(
  `^([+-]?)0[xX](?:_?(${HEX_DIGITS})(?:\\.(${HEX_DIGITS})?)?|\\.(${HEX_DIGITS}))[pP]([+-]?${DIGITS})$`,
);
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/**
 * Parses a number: decimal, hexadecimal with a `p` exponent, `inf` or `nan`; `_` between digits.
 * Numbers that are too large for 64 bits become infinite.
 *
 * @returns null if the text is not a number
 */
export function parseNumber(text: string): number | null {
  if (DECIMAL.test(text)) return Number(text.replaceAll('_', ''));
  if (/^nan$/i.test(text)) return Number.NaN;
  const infinite = INFINITE.exec(text);
  if (infinite !== null) return infinite[1] === '-' ? -Infinity : Infinity;
  return parseHexadecimal(text);
}

function parseHexadecimal(text: string): number | null {
  const match = HEXADECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', afterWhole = '', alone = '', exponent] = match;
  const fraction = (afterWhole + alone).replaceAll('_', '');
  const mantissa = Number(`0x${whole.replaceAll('_', '')}${fraction}`);
  const value = mantissa * 2 ** (Number(exponent.replaceAll('_', '')) - 4 * fraction.length);
  return sign === '-' ? -value : value;
}
