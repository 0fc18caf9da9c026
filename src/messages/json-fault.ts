import type { FaultCode } from '../base/fault.ts';

/** Bytes with a meaning in JSON documents (RFC 8259, section 2). */
export const CHAR = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  upperE: 0x45,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  lowerA: 0x61,
  lowerE: 0x65,
  lowerF: 0x66,
  lowerU: 0x75,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** Maximum length of the part of the document that a fault quotes, in bytes. */
const MAX_QUOTED = 40;

/** The fault codes that apply to documents. */
export type JsonFaultCode = Extract<FaultCode, 'unparseable' | 'too_large'>;

/** A JSON document was rejected. The message says where, what was found, and what is accepted. */
export class JsonFault extends Error {
  /** The place in the document, such as `descriptors[1].entries[0].key`; empty for the document as a whole. */
  readonly path: string;
  /** Offset of the fault in the document, in bytes from 0. */
  readonly offset: number;
  readonly code: JsonFaultCode;

  constructor(
    place: { readonly path: string; readonly offset: number },
    text: string,
    code: JsonFaultCode = 'unparseable',
  ) {
    super(`${place.path === '' ? 'the document' : place.path}: ${text} (at byte ${place.offset})`);
    this.name = 'JsonFault';
    this.path = place.path;
    this.offset = place.offset;
    this.code = code;
  }
}

/**
 * Creates the fault for `offset`. Everything before `offset` must be valid JSON. The fault has no stack trace, because
 * the caller caused it and collecting a stack trace would cost more than the rest of the request.
 */
export function jsonFault(
  bytes: Uint8Array,
  offset: number,
  text: string,
  code: JsonFaultCode = 'unparseable',
): JsonFault {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const fault = new JsonFault({ path: pathAt(bytes, offset), offset }, text, code);
  Error.stackTraceLimit = stackTraceLimit;
  return fault;
}

/**
 * The path of the value at `offset`. It is computed from the start of the document when a fault occurs, so that reading
 * a valid document does not have to track the path.
 */
function pathAt(bytes: Uint8Array, offset: number): string {
  // One step per open container: the index in an array, or the name in an object, which is empty before each name.
  const steps: (string | number)[] = [];
  for (let at = 0; at < offset; ) {
    const byte = bytes[at];
    const top = steps.length - 1;
    let next = at + 1;
    if (byte === CHAR.openObject) steps.push('');
    else if (byte === CHAR.openArray) steps.push(0);
    else if (byte === CHAR.closeObject || byte === CHAR.closeArray) steps.pop();
    else if (byte === CHAR.comma) steps[top] = nextStep(steps[top]);
    else if (byte === CHAR.quote) {
      next = afterString(bytes, at);
      if (next > offset) break;
      if (steps[top] === '') steps[top] = Buffer.from(bytes.subarray(at + 1, next - 1)).toString('utf8');
    }
    at = next;
  }
  return steps.reduce<string>(joined, '');
}

function joined(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  return path === '' || step === '' ? path + step : `${path}.${step}`;
}

function nextStep(step: string | number): string | number {
  return typeof step === 'number' ? step + 1 : '';
}

/** The offset after the closing quote of the string at `start`; beyond the end if there is no closing quote. */
function afterString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== CHAR.quote) at += bytes[at] === CHAR.backslash ? 2 : 1;
  return at + 1;
}

/** Describes the value at `offset` for a message: `the number 5`, `an object`, `the end of the document`. */
export function describeAt(bytes: Uint8Array, offset: number): string {
  if (offset >= bytes.length) return 'the end of the document';
  const byte = bytes[offset];
  if (byte === CHAR.openObject) return 'an object';
  if (byte === CHAR.openArray) return 'an array';
  if (byte === CHAR.quote) return `the string ${excerpt(bytes, offset, afterString(bytes, offset))}`;
  const word = excerpt(bytes, offset, afterWord(bytes, offset));
  if (word === 'true' || word === 'false' || word === 'null') return word;
  if (byte === CHAR.minus || (byte >= CHAR.zero && byte <= CHAR.nine)) return `the number ${word}`;
  if (word !== '') return `the text ${word}`;
  if (byte > CHAR.space && byte < 0x7f) return `the character ${String.fromCharCode(byte)}`;
  return `the byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/** A hint how to quote the bare word or number at `offset`, in parentheses; empty without a hint. */
export function quotingHint(bytes: Uint8Array, offset: number): string {
  const word = excerpt(bytes, offset, afterWord(bytes, offset));
  return word === '' || word === 'null' ? '' : ` (write "${word}")`;
}

/** The offset after the letters, digits, points and signs at `start`, up to the maximum quoted length. */
function afterWord(bytes: Uint8Array, start: number): number {
  const stop = Math.min(bytes.length, start + MAX_QUOTED + 1);
  let at = start;
  while (at < stop && /[\w.+-]/.test(String.fromCharCode(bytes[at]))) at++;
  return at;
}

/** A part of the document, truncated, and without control characters that could affect a log or a terminal. */
function excerpt(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.subarray(start, Math.min(end, start + MAX_QUOTED))).toString('utf8');
  const printable = text.replace(/\p{C}/gu, '?');
  return end - start > MAX_QUOTED ? `${printable}...` : printable;
}
