/**
 * Number texts as Go reads them: deployments of the reference implementation carry such texts, and one that is
 * read differently here would silently be another setting (`010` is 8, not 10).
 */

const INTEGER =
  /^([+-]?)(0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

/**
 * A whole number: decimal, `0x`, `0o`, `0b`, or octal by a leading zero; `_` between digits; a sign.
 * Above 2^53 - 1 the value is rounded, so a caller must bound what it takes.
 * @returns null when the text is none
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
 * A number: decimal, hexadecimal with a `p` exponent, `inf` or `nan`; `_` between digits.
 * A number too large for 64 bits becomes infinite.
 * @returns null when the text is none
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
