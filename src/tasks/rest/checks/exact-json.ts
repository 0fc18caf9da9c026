import { randomBytes } from 'node:crypto';
import type { Schema } from '../../../base/schema/schema.ts';

/** From ECMAScript's "JSON.parse source text access"; the type declarations do not have it yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** A JSON number: integer digits, fraction digits and exponent. */
const NUMBER = /^-?(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Marks a string that stands for a long number. It is random, so no body can contain it. */
const MARK = `${randomBytes(16).toString('base64')} `;
/** Each takes some microseconds. A payload cannot hold this many, but a body can hold far more. */
const MAX_LONG_NUMBERS = 100_000;
/** A double represents every number with this many digits exactly, unless it has an exponent (`DBL_DIG` in C). */
const SAFE_DIGITS = 15;

/**
 * `JSON.parse` without loss of digits. Payloads are passed on, and many systems use 64-bit ids as numbers. A number that
 * a double cannot represent becomes an object that `JSON.stringify` writes with the original digits.
 *
 * @param schema the schema of the value: fields that it defines as numbers become numbers, with loss of digits; null if
 *   there is no schema
 * @throws SyntaxError as `JSON.parse` does
 * @throws RangeError if too many numbers have too many digits
 */
export function parseExactly(text: string, schema: Schema | null = null): unknown {
  const plain = JSON.parse(text);
  const marked = withMarks(text);
  return marked === text ? plain : restored(JSON.parse(marked), schema);
}

/** Whether a value is the replacement of {@link parseExactly} for a number that a double cannot represent. */
export function isRawNumber(value: unknown): boolean {
  return isRawJSON(value);
}

const TOO_MANY = `The body has more than ${MAX_LONG_NUMBERS} numbers with more digits than a double can represent. Send them as strings.`;

/** Replaces each number that a double cannot represent by a string of {@link MARK} and the number. */
function withMarks(text: string): string {
  // Alternates between unchanged text and a number.
  const marked: string[] = [];
  let done = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 34) i = endOfString(text, i + 1);
    else if (code === 45 || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, i);
      if (mayLoseDigits(text, i, end) && !isDouble(text.slice(i, end))) {
        marked.push(text.slice(done, i), text.slice(i, end));
        if (marked.length > 2 * MAX_LONG_NUMBERS) throw new RangeError(TOO_MANY);
        done = end;
      }
      i = end - 1;
    }
  }
  if (done === 0) return text;
  let whole = '';
  for (let i = 0; i < marked.length; i += 2) whole += `${marked[i]}"${MARK}${marked[i + 1]}"`;
  return whole + text.slice(done);
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isOfNumber(text.charCodeAt(end))) end++;
  return end;
}

/** A digit, `.`, `e`, `E`, `+` or `-`. */
function isOfNumber(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || code === 46 || code === 101 || code === 69 || code === 43 || code === 45
  );
}

/** Only such a number is checked in detail, which costs about a hundred times as much as skipping it. */
function mayLoseDigits(text: string, start: number, end: number): boolean {
  if (end - start > SAFE_DIGITS) return true;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === 101 || code === 69) return true;
  }
  return false;
}

/** Whether a double represents the number exactly, though it may be written differently: `1.50` as `1.5`. */
function isDouble(number: string): boolean {
  const written = String(Number(number));
  return written === number || normalForm(number) === normalForm(written);
}

/** Sign, digits without leading and trailing zeros, and the power of ten of the last digit. Equal numbers have equal forms. */
function normalForm(number: string): string {
  const match = NUMBER.exec(number);
  if (match === null) return number;
  const [, whole, fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const short = withoutZeros(digits);
  if (short === '') return '0';
  const power = Number(exponent) - fraction.length + (digits.length - short.length);
  return `${number.startsWith('-') ? '-' : ''}${short}e${power}`;
}

/** Without trailing zeros. A regular expression would take quadratic time for long runs of zeros. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end--;
  return digits.slice(0, end);
}

/** Replaces marked strings by numbers, in place. */
function restored(value: unknown, schema: Schema | null): unknown {
  if (typeof value === 'string') {
    if (!value.startsWith(MARK)) return value;
    const number = value.slice(MARK.length);
    return schema === null ? rawJSON(number) : Number(number);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) restoreItems(value, schema);
  else restoreFields(value as Record<string, unknown>, schema);
  return value;
}

function restoreItems(items: unknown[], schema: Schema | null): void {
  const ofItems = schema?.type === 'array' ? shown(schema.items) : null;
  for (let i = 0; i < items.length; i++) {
    if (typeof items[i] !== 'number') items[i] = restored(items[i], ofItems);
  }
}

function restoreFields(fields: Record<string, unknown>, schema: Schema | null): void {
  for (const name of Object.keys(fields)) {
    if (typeof fields[name] !== 'number') fields[name] = restored(fields[name], below(schema, name));
  }
}

/** The schema of a field; null if it may have any value, or is rejected anyway. */
function below(schema: Schema | null, name: string): Schema | null {
  if (schema?.type === 'record') return shown(schema.values);
  if (schema?.type !== 'object' || !Object.hasOwn(schema.properties, name)) return null;
  return shown(schema.properties[name]);
}

function shown(schema: Schema): Schema | null {
  return schema.type === 'any' ? (schema.shows ?? null) : schema;
}

const BACKSLASH = 92;

/** The index of the quote that ends a string; the length of the text if the quote is missing. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}
