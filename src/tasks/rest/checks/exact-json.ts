import { randomBytes } from 'node:crypto';
import type { Schema } from './schema.ts';

/** Of ECMAScript's "JSON.parse source text access", which the declarations do not know yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** A number of JSON: digits before and behind the point, and the exponent. */
const NUMBER = /^-?(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** What a long number is replaced by, as a text that nobody can have written. */
const MARK = `${randomBytes(16).toString('base64')} `;
/** Each costs some microseconds. More than a payload can hold, and far less than a body. */
const MAX_LONG_NUMBERS = 100_000;
/** A double represents every number with this many digits exactly, unless it has an exponent (`DBL_DIG` in C). */
const SAFE_DIGITS = 15;

/**
 * `JSON.parse` that loses no digit: ids of 64 bits are numbers to many, and payloads are passed on. A number that no
 * double holds becomes an object that `JSON.stringify` writes as the number was; all others are numbers.
 *
 * @param schema of what is read: where it asks for numbers they are numbers, if not the same; null: it may be anything
 * @throws SyntaxError as `JSON.parse` does · RangeError when too many numbers have too many digits
 */
export function parseExactly(text: string, schema: Schema | null = null): unknown {
  const plain = JSON.parse(text);
  const marked = withMarks(text);
  return marked === text ? plain : restored(JSON.parse(marked), schema);
}

/** True for what {@link parseExactly} has put in the place of a number that no double holds. */
export function isRawNumber(value: unknown): boolean {
  return isRawJSON(value);
}

const TOO_MANY = `there are more than ${MAX_LONG_NUMBERS} numbers with more digits than a double holds: send them as texts`;

/** JSON in which each number that no double holds is a text: {@link MARK} and the number. */
function withMarks(text: string): string {
  // What is left as it is, and a number, by turns.
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

/** True when the number is written again as the same one, though perhaps with other digits: `1.50` as `1.5`. */
function isDouble(number: string): boolean {
  const written = String(Number(number));
  return written === number || normalForm(number) === normalForm(written);
}

/** Sign, digits without zeros around them, and the power of ten of the last one: equal for equal numbers. */
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

/** Without those at the end. A pattern would look at each row of zeros from each of its places. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end--;
  return digits.slice(0, end);
}

/** Puts numbers in place of marks, in place. */
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

/** The schema of a field; null where it may be anything, or is refused anyway. */
function below(schema: Schema | null, name: string): Schema | null {
  if (schema?.type === 'record') return shown(schema.values);
  if (schema?.type !== 'object' || !Object.hasOwn(schema.properties, name)) return null;
  return shown(schema.properties[name]);
}

function shown(schema: Schema): Schema | null {
  return schema.type === 'any' ? (schema.shows ?? null) : schema;
}

const BACKSLASH = 92;

/** The place of the quote that ends a string; the end of the text when there is none. */
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
