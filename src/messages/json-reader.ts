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

/** One accepted name. */
interface KnownName {
  /** The bytes of the name and its closing quote, so that one comparison finds the name and its end. */
  readonly bytes: Uint8Array;
  /** The first of `bytes`, which distinguishes most names. */
  readonly first: number;
  /**
   * The length of `bytes`. Stored here, because reading the length of a typed array costs more than comparing a byte.
   */
  readonly length: number;
  readonly value: number;
}

/** The field names of a message or the value names of an enum, recognized by their bytes. */
interface NameTable {
  readonly names: readonly KnownName[];
  readonly values: ReadonlyMap<string, number>;
  /** All names, for error messages. */
  readonly accepted: string;
}

/** Builds a table from names to values of at least 0. Synonyms have the same value. */
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

/** Returned by `firstField` and `nextField` at the end of an object. Fields are single bits, so no field is 0. */
export const NO_FIELD = 0;

const UNKNOWN = -1;
const END = -1;
const NULL = new TextEncoder().encode('null');
const TRUE = new TextEncoder().encode('true');
const FALSE = new TextEncoder().encode('false');

/** Numbers with more digits may not be exact in a double. */
const MAX_PLAIN_DIGITS = 15;

/**
 * Reads a JSON document (RFC 8259) of a known shape in one pass over its bytes, without building objects: the caller
 * asks for the value that must come next. The reader is strict: UTF-8 only, no comments, no trailing commas, no byte
 * order mark. Every method throws a {@link JsonFault} if it finds something else.
 */
export class JsonReader {
  readonly #bytes: Uint8Array;
  /** The length of `#bytes`. Stored here, because reading it in a loop costs more. */
  readonly #stop: number;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#stop = bytes.length;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
      throw this.#fault(0, 'starts with a byte order mark (EF BB BF): send UTF-8 without it');
    }
  }

  /** Enters an object and reads the name of its first field. Returns the value of the name, or NO_FIELD. */
  firstField(table: NameTable): number {
    this.#enter(CHAR.openObject, 'a JSON object');
    if (this.#skipSpace() !== CHAR.closeObject) return this.#field(table, 0);
    this.#position++;
    return NO_FIELD;
  }

  /** Reads the name of the next field. `seen` has the bits of the earlier fields, which must not be repeated. */
  nextField(table: NameTable, seen: number): number {
    return this.#another(CHAR.closeObject) ? this.#field(table, seen) : NO_FIELD;
  }

  /** Enters an object with any names and reads the first one. Returns null if it has none. */
  firstName(): string | null {
    this.#enter(CHAR.openObject, 'a JSON object');
    if (this.#skipSpace() !== CHAR.closeObject) return this.#anyName();
    this.#position++;
    return null;
  }

  /** Reads the next name of an object with any names. Returns null at the end. */
  nextName(): string | null {
    return this.#another(CHAR.closeObject) ? this.#anyName() : null;
  }

  /** Enters an array. Returns whether it has a first item. */
  firstItem(): boolean {
    this.#enter(CHAR.openArray, 'a JSON array');
    if (this.#skipSpace() !== CHAR.closeArray) return true;
    this.#position++;
    return false;
  }

  /** Moves to the next item of the array. Returns false at the end. */
  nextItem(): boolean {
    return this.#another(CHAR.closeArray);
  }

  /** Skips a `null`. Returns false if the next value is something else. */
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

  /** Reads a string and appends its decoded content in UTF-8. */
  stringInto(writer: ByteWriter): void {
    if (this.#skipSpace() !== CHAR.quote) {
      throw this.#found(`must be a JSON string${quotingHint(this.#bytes, this.#position)}`);
    }
    if (!this.#plainStringInto(writer)) this.#anyStringInto(writer);
  }

  /** Reads a string as text. */
  string(): string {
    const content = new ByteWriter();
    this.stringInto(content);
    return Buffer.from(content.view()).toString('utf8');
  }

  /** Reads a whole number, or a string that contains one. Returns a bigint above 2^53 - 1. */
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

  /** Checks that only white space follows. */
  endDocument(): void {
    if (this.#skipSpace() === END) return;
    const extra = describeAt(this.#bytes, this.#position);
    throw this.#fault(this.#position, `expected the end of the document, not ${extra}`);
  }

  /** The fault for the next value, if it violates a rule of the caller. */
  refuse(text: string, code: JsonFaultCode = 'unparseable'): JsonFault {
    this.#skipSpace();
    return jsonFault(this.#bytes, this.#position, text, code);
  }

  #fault(offset: number, text: string): JsonFault {
    return jsonFault(this.#bytes, offset, text);
  }

  /** The fault for the value at the position. `rule` says what is expected. */
  #found(rule: string): JsonFault {
    return this.#fault(this.#position, `${rule}, not ${describeAt(this.#bytes, this.#position)}`);
  }

  /** Moves to the next byte that is not white space and returns it; END at the end of the document. */
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

  /** Skips the comma before the next field or item, or the end of the object or array. */
  #another(closing: number): boolean {
    const byte = this.#skipSpace();
    if (byte !== CHAR.comma && byte !== closing) {
      throw this.#found(`expected a comma or ${String.fromCharCode(closing)}`);
    }
    this.#position++;
    return byte === CHAR.comma;
  }

  #anyName(): string {
    this.#expectName();
    const name = this.#text();
    this.#skipColon();
    return name;
  }

  #expectName(): void {
    if (this.#skipSpace() === CHAR.quote) return;
    const hint = quotingHint(this.#bytes, this.#position);
    throw this.#found(`expected a field name in double quotes${hint}`);
  }

  #skipColon(): void {
    if (this.#skipSpace() !== CHAR.colon) throw this.#found('expected a colon after the field name');
    this.#position++;
  }

  #field(table: NameTable, seen: number): number {
    this.#expectName();
    const at = this.#position;
    const field = this.#name(table);
    if (field === UNKNOWN) {
      throw this.#fault(
        at,
        `${describeAt(this.#bytes, at)} is not a known field; accepted fields: ${table.accepted}`,
      );
    }
    if ((seen & field) !== 0) {
      const found = describeAt(this.#bytes, at);
      throw this.#fault(at, `${found} is a duplicate field: write it once, in one spelling`);
    }
    this.#skipColon();
    return field;
  }

  /** Skips a word at the position. Returns false if there is something else. */
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

  /** Compares the bytes at the position with each name. This finds nearly all names. */
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
   * Copies the string at the position while searching for its end. Returns false and moves nothing if a byte needs more
   * than copying: an escape, a control character, or a byte that is not ASCII.
   */
  #plainStringInto(writer: ByteWriter): boolean {
    const bytes = this.#bytes;
    const stop = this.#stop;
    let from = this.#position + 1;
    // A string cannot be longer than the rest of the document, so one reservation covers all of its bytes.
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

  /** Reads the number at the position; undefined if there is no number or it is not a whole number. */
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

  /** Reads the number in the string at the position; undefined if the string contains anything else. */
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

  /**
   * Skips the digits at the position. Returns their value, or undefined if there are no digits or the first is a
   * leading zero.
   */
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

/** Whether a byte is insignificant white space. */
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
