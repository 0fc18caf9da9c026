import { ByteWriter } from '../base/bytes.ts';
import {
  CHAR,
  describeAt,
  type JsonFault,
  type JsonFaultCode,
  jsonFault,
  quotingHint,
} from './json-fault.ts';
import { checkString, decodeString, exactInteger, type IntegerRange } from './json-values.ts';

/** One name that a place in a document accepts. */
interface KnownName {
  /** The bytes of the name and its closing quote: comparing them finds the name and its end in one go. */
  readonly bytes: Uint8Array;
  /** The first of `bytes`, which tells most names apart. */
  readonly first: number;
  /** How many `bytes` there are. Kept here: asking a typed array for its length costs more than comparing a byte. */
  readonly length: number;
  readonly value: number;
}

/** The field names of a message, or the value names of an enum, to be recognised by their bytes. */
interface NameTable {
  readonly names: readonly KnownName[];
  readonly values: ReadonlyMap<string, number>;
  /** All names as a fault lists them. */
  readonly accepted: string;
}

/** Builds a table from names to values of at least 0; names that mean the same have the same value. */
export function nameTable(values: Readonly<Record<string, number>>): NameTable {
  const pairs = Object.entries(values);
  return {
    names: pairs.map(([name, value]) => knownName(name, value)),
    values: new Map(pairs),
    accepted: pairs.map(([name]) => name).join(', '),
  };
}

function knownName(name: string, value: number): KnownName {
  const bytes = new TextEncoder().encode(`${name}"`);
  return { bytes, first: bytes[0], length: bytes.length, value };
}

/** What `firstField` and `nextField` answer at the end of an object. Fields have one bit each, so none has 0. */
export const NO_FIELD = 0;

const UNKNOWN = -1;
const END = -1;
const NULL = new TextEncoder().encode('null');
const TRUE = new TextEncoder().encode('true');
const FALSE = new TextEncoder().encode('false');

/** More digits than this may not be exact in a double. */
const MAX_PLAIN_DIGITS = 15;

/**
 * Reads a JSON document (RFC 8259) whose shape is known, in one pass over its bytes: the caller asks for what must
 * come next. No object is built on the way. Strict: UTF-8 only, no comments, no trailing
 * commas, no byte order mark. Every method that finds something else throws a {@link JsonFault}.
 */
export class JsonReader {
  readonly #bytes: Uint8Array;
  /** The length of `#bytes`, which costs more to ask for in a loop than to keep. */
  readonly #stop: number;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#stop = bytes.length;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
      throw this.#fault(0, 'starts with a byte order mark (EF BB BF): send UTF-8 without it');
    }
  }

  /** Enters an object and passes over the name of its first field; the table's value of that name, or NO_FIELD. */
  firstField(table: NameTable): number {
    this.#enter(CHAR.openObject, 'a JSON object');
    if (this.#skipSpace() !== CHAR.closeObject) return this.#field(table, 0);
    this.#position++;
    return NO_FIELD;
  }

  /** The same for the next field. `seen` has the bits of the fields before it: none of them may come again. */
  nextField(table: NameTable, seen: number): number {
    return this.#another(CHAR.closeObject) ? this.#field(table, seen) : NO_FIELD;
  }

  /** Enters an array; whether there is a first item. */
  firstItem(): boolean {
    this.#enter(CHAR.openArray, 'a JSON array');
    if (this.#skipSpace() !== CHAR.closeArray) return true;
    this.#position++;
    return false;
  }

  /** Moves to the next item of the array; false at the end. */
  nextItem(): boolean {
    return this.#another(CHAR.closeArray);
  }

  /** Passes over a `null`; false when something else stands here. */
  takeNull(): boolean {
    if (this.#skipSpace() !== NULL[0]) return false;
    return this.#takeWord(NULL);
  }

  /** Reads `true` or `false`. */
  boolean(): boolean {
    this.#skipSpace();
    if (this.#takeWord(TRUE)) return true;
    if (this.#takeWord(FALSE)) return false;
    throw this.#found('must be true or false');
  }

  /** Reads a string and appends its content, decoded, in UTF-8. */
  stringInto(writer: ByteWriter): void {
    if (this.#skipSpace() !== CHAR.quote) {
      throw this.#found(`must be a JSON string${quotingHint(this.#bytes, this.#position)}`);
    }
    if (!this.#plainStringInto(writer)) this.#anyStringInto(writer);
  }

  /** Reads a whole number, or a string that holds nothing but one; a bigint beyond 2^53 - 1. */
  integer(range: IntegerRange): number | bigint {
    const quoted = this.#skipSpace() === CHAR.quote;
    const at = this.#position;
    const value = quoted ? this.#quotedInteger() : this.#bareInteger();
    if (value === undefined || value < range.min || value > range.max) {
      throw this.#fault(at, `must be ${range.accepted}, not ${describeAt(this.#bytes, at)}`);
    }
    return value;
  }

  /** Reads the name or the number of an enum value. */
  nameOrInteger(table: NameTable, range: IntegerRange): number {
    if (this.#skipSpace() !== CHAR.quote) return Number(this.integer(range));
    const at = this.#position;
    const value = this.#name(table);
    if (value === UNKNOWN) {
      const found = describeAt(this.#bytes, at);
      throw this.#fault(at, `must be one of ${table.accepted}, or ${range.accepted}, not ${found}`);
    }
    return value;
  }

  /** Checks that nothing but white space follows. */
  endDocument(): void {
    if (this.#skipSpace() === END) return;
    const extra = describeAt(this.#bytes, this.#position);
    throw this.#fault(this.#position, `nothing may follow the document, but there is ${extra}`);
  }

  /** The fault for what comes next, when the caller has a rule of its own against it. */
  refuse(text: string, code: JsonFaultCode = 'unparseable'): JsonFault {
    this.#skipSpace();
    return jsonFault(this.#bytes, this.#position, text, code);
  }

  #fault(offset: number, text: string): JsonFault {
    return jsonFault(this.#bytes, offset, text);
  }

  /** The fault for what stands at the position; `rule` says what should. */
  #found(rule: string): JsonFault {
    return this.#fault(this.#position, `${rule}, not ${describeAt(this.#bytes, this.#position)}`);
  }

  /** Moves to the next byte that is no white space and returns it; END behind the last one. */
  #skipSpace(): number {
    const bytes = this.#bytes;
    const stop = this.#stop;
    for (let at = this.#position; at < stop; at++) {
      const byte = bytes[at];
      if (byte > CHAR.space || !isSpace(byte)) {
        this.#position = at;
        return byte;
      }
    }
    this.#position = stop;
    return END;
  }

  #enter(opening: number, what: string): void {
    if (this.#skipSpace() !== opening) throw this.#found(`must be ${what}`);
    this.#position++;
  }

  /** Passes over the comma before another field or item, or over the end of the object or array. */
  #another(closing: number): boolean {
    const byte = this.#skipSpace();
    if (byte !== CHAR.comma && byte !== closing) {
      throw this.#found(`a comma or the closing ${String.fromCharCode(closing)} must follow`);
    }
    this.#position++;
    return byte === CHAR.comma;
  }

  #field(table: NameTable, seen: number): number {
    if (this.#skipSpace() !== CHAR.quote) {
      const hint = quotingHint(this.#bytes, this.#position);
      throw this.#found(`a field name in double quotes must stand here${hint}`);
    }
    const at = this.#position;
    const field = this.#name(table);
    if (field === UNKNOWN) {
      throw this.#fault(at, `${describeAt(this.#bytes, at)} names no field: accepted are ${table.accepted}`);
    }
    if ((seen & field) !== 0) {
      const found = describeAt(this.#bytes, at);
      throw this.#fault(
        at,
        `${found} names a field that stands here already: write it once, in one spelling`,
      );
    }
    if (this.#skipSpace() !== CHAR.colon) throw this.#found('a colon must follow the field name');
    this.#position++;
    return field;
  }

  /** Passes over a word that stands at the position; false when another one does. */
  #takeWord(word: Uint8Array): boolean {
    const bytes = this.#bytes;
    const at = this.#position;
    for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
    this.#position = at + word.length;
    return true;
  }

  /** Reads the string at the position as a name of the table. */
  #name(table: NameTable): number {
    const known = this.#nameByBytes(table);
    if (known !== UNKNOWN) return known;
    return table.values.get(this.#text()) ?? UNKNOWN;
  }

  /** Compares the bytes at the position with each name: how nearly every name is found. */
  #nameByBytes(table: NameTable): number {
    const bytes = this.#bytes;
    const start = this.#position + 1;
    const names = table.names;
    const first = bytes[start];
    for (let i = 0; i < names.length; i++) {
      const { bytes: name, first: expected, length, value } = names[i];
      if (expected !== first) continue;
      let same = 1;
      while (same < length && bytes[start + same] === name[same]) same++;
      if (same < length) continue;
      this.#position = start + same;
      return value;
    }
    return UNKNOWN;
  }

  /**
   * Copies the string at the position while looking for its end; false, with nothing moved, as soon as a byte needs
   * more than copying: an escape, a control character, anything but ASCII.
   */
  #plainStringInto(writer: ByteWriter): boolean {
    const bytes = this.#bytes;
    const stop = this.#stop;
    let from = this.#position + 1;
    // A string cannot be longer than the rest of the document, so one check covers every byte of it.
    writer.reserve(stop - from);
    const target = writer.bytes;
    let to = writer.length;
    while (from < stop) {
      const byte = bytes[from++];
      if (byte === CHAR.quote) {
        writer.length = to;
        this.#position = from;
        return true;
      }
      if (byte < CHAR.space || byte >= 0x80 || byte === CHAR.backslash) return false;
      target[to++] = byte;
    }
    return false;
  }

  #anyStringInto(writer: ByteWriter): void {
    const quote = this.#position;
    const end = checkString(this.#bytes, quote);
    decodeString(this.#bytes, quote + 1, end, writer);
    this.#position = end + 1;
  }

  /** Reads the string at the position as text. */
  #text(): string {
    const content = new ByteWriter();
    this.#anyStringInto(content);
    return Buffer.from(content.view()).toString('utf8');
  }

  /** The number at the position; undefined when there is none, or none that is whole. */
  #bareInteger(): number | bigint | undefined {
    const bytes = this.#bytes;
    const start = this.#position;
    const plain = this.#plainDigits();
    let end = this.#position;
    while (end < this.#stop && isNumberPart(bytes[end])) end++;
    if (end === this.#position && plain !== undefined) return plain;
    this.#position = end;
    return exactInteger(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  }

  /** The number that the string at the position holds; undefined when it holds anything else. */
  #quotedInteger(): number | bigint | undefined {
    const quote = this.#position++;
    const plain = this.#plainDigits();
    if (plain !== undefined && this.#bytes[this.#position] === CHAR.quote) {
      this.#position++;
      return plain;
    }
    this.#position = quote;
    return exactInteger(this.#text());
  }

  /** Passes over the digits at the position; their value when they are few and the first is not a leading zero. */
  #plainDigits(): number | undefined {
    const bytes = this.#bytes;
    const start = this.#position;
    const stop = Math.min(this.#stop, start + MAX_PLAIN_DIGITS);
    let at = start;
    let value = 0;
    while (at < stop && bytes[at] >= CHAR.zero && bytes[at] <= CHAR.nine)
      value = value * 10 + (bytes[at++] - CHAR.zero);
    this.#position = at;
    const leadingZero = bytes[start] === CHAR.zero && at > start + 1;
    return at === start || leadingZero ? undefined : value;
  }
}

/** Whether a byte is white space between the parts of a document. */
function isSpace(byte: number): boolean {
  return byte === CHAR.space || byte === CHAR.lineFeed || byte === CHAR.carriageReturn || byte === CHAR.tab;
}

/** Whether a byte can be part of a number: digits, signs, the point, the letter before an exponent. */
function isNumberPart(byte: number): boolean {
  return (
    (byte >= CHAR.zero && byte <= CHAR.nine) ||
    byte === CHAR.point ||
    byte === CHAR.minus ||
    byte === CHAR.plus ||
    byte === CHAR.lowerE ||
    byte === CHAR.upperE
  );
}
