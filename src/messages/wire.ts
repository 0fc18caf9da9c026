import { isUtf8 } from 'node:buffer';
import type { ByteWriter } from '../base/bytes.ts';
import { StacklessError } from '../base/fault.ts';

/** Wire types of the protobuf encoding (protobuf.dev, "Encoding"). */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, groupStart: 3, groupEnd: 4, fixed32: 5 } as const;

/** Maximum nesting depth of groups. The messages here have no groups, but messages of later versions might. */
const MAX_GROUP_DEPTH = 32;

/** The bytes are not a valid protobuf message. The text says what was found at which offset. */
export class WireFault extends StacklessError {
  constructor(message: string, offset: number) {
    super(`${message} at byte ${offset}`);
    this.name = 'WireFault';
  }
}

/**
 * Reads protobuf fields in place: a cursor over `bytes[position, end)`. One reader is reused for many messages. Nested
 * messages are read by narrowing `end` and restoring it afterwards.
 */
export class WireReader {
  bytes: Uint8Array = new Uint8Array(0);
  position = 0;
  end = 0;
  /** Low 32 bits of the last varint. */
  low = 0;
  /** High 32 bits of the last varint. */
  high = 0;
  /** Field number of the last tag. */
  field = 0;
  /** Wire type of the last tag. */
  wireType = 0;
  /** Offset of the message in `bytes`. Faults report offsets relative to it. */
  #start = 0;

  open(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.#start = start;
  }

  /** The fault at `position`, an index of `bytes`. */
  fault(message: string, position: number): WireFault {
    return new WireFault(message, position - this.#start);
  }

  /** Reads the next tag into `field` and `wireType`. Returns false at the end. */
  next(): boolean {
    if (this.position >= this.end) return false;
    const at = this.position;
    this.#varint();
    const tag = this.low;
    this.field = tag >>> 3;
    this.wireType = tag & 7;
    if (this.field === 0 || this.high !== 0) throw this.fault('field number 0 or above 2^29 - 1', at);
    return true;
  }

  #varint(): void {
    const bytes = this.bytes;
    let low = 0;
    let high = 0;
    const start = this.position;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.position >= this.end) throw this.fault('incomplete varint', start);
      const byte = bytes[this.position++];
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 128) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw this.fault('varint longer than ten bytes', start);
  }

  #expect(wireType: number): void {
    if (this.wireType !== wireType) {
      throw this.fault(`field ${this.field} has wire type ${this.wireType}, not ${wireType}`, this.position);
    }
  }

  /** The value as an unsigned 32-bit number. Higher bits are dropped, as in other protobuf parsers. */
  uint32(): number {
    this.#expect(WIRE.varint);
    this.#varint();
    return this.low;
  }

  /** The value as an unsigned 64-bit number, capped at 2^53 - 1, the largest exact whole number of a double. */
  uint64(): number {
    this.#expect(WIRE.varint);
    this.#varint();
    return this.high > 0x1fffff ? Number.MAX_SAFE_INTEGER : this.high * 0x1_0000_0000 + this.low;
  }

  /** The value of a bool: every varint except 0 is true. */
  bool(): boolean {
    this.#expect(WIRE.varint);
    this.#varint();
    return this.low !== 0 || this.high !== 0;
  }

  /** Enters a length-delimited field. Returns where it ends; `position` is where it starts. */
  delimited(): number {
    this.#expect(WIRE.bytes);
    const at = this.position;
    this.#varint();
    const stop = this.position + this.low;
    if (this.high !== 0 || stop > this.end)
      throw this.fault(`field ${this.field} is longer than the message`, at);
    return stop;
  }

  /** Reads the message in a length-delimited field: narrows the reader to it while `read` runs. */
  nested<T>(read: (reader: WireReader) => T): T {
    const outerEnd = this.end;
    const end = this.delimited();
    this.end = end;
    const message = read(this);
    this.position = end;
    this.end = outerEnd;
    return message;
  }

  /** A view of a length-delimited field. */
  view(): Uint8Array {
    const stop = this.delimited();
    const view = this.bytes.subarray(this.position, stop);
    this.position = stop;
    return view;
  }

  /** A length-delimited field as text. Invalid UTF-8 becomes replacement characters. */
  text(): string {
    return Buffer.from(this.view()).toString('utf8');
  }

  /** A length-delimited field as text that must be valid UTF-8 (protobuf.dev, "Encoding": strings). */
  checkedText(): string {
    const at = this.position;
    const bytes = this.view();
    if (!isUtf8(bytes)) throw this.fault(`field ${this.field} is not valid UTF-8`, at);
    return Buffer.from(bytes).toString('utf8');
  }

  /** Skips a group up to its matching end. Groups are an encoding that proto3 does not write. */
  #skipGroup(): void {
    const start = this.position;
    const open = [this.field];
    while (open.length > 0) {
      if (!this.next()) throw this.fault(`group field ${open[0]} has no end`, start);
      if (this.wireType === WIRE.groupStart) {
        if (open.length === MAX_GROUP_DEPTH)
          throw this.fault(`groups nested more than ${MAX_GROUP_DEPTH} levels deep`, start);
        open.push(this.field);
      } else if (this.wireType !== WIRE.groupEnd) this.skip();
      else if (open.pop() !== this.field)
        throw this.fault(`field ${this.field} ends a group of another field`, start);
    }
  }

  /** Skips the value of the last tag. */
  skip(): void {
    const at = this.position;
    if (this.wireType === WIRE.varint) this.#varint();
    else if (this.wireType === WIRE.bytes) this.position = this.delimited();
    else if (this.wireType === WIRE.fixed64) this.position += 8;
    else if (this.wireType === WIRE.fixed32) this.position += 4;
    else if (this.wireType === WIRE.groupStart) this.#skipGroup();
    else throw this.fault(`field ${this.field} has the invalid wire type ${this.wireType}`, at);
    if (this.position > this.end) throw this.fault(`field ${this.field} is longer than the message`, at);
  }
}

/** A reader over all of `bytes`. */
export function readerOf(bytes: Uint8Array): WireReader {
  const reader = new WireReader();
  reader.open(bytes, 0, bytes.length);
  return reader;
}

/** Writes the tag of a field. */
export function writeTag(writer: ByteWriter, field: number, wireType: number): void {
  writer.varint(field * 8 + wireType);
}

/** Writes a varint field, or nothing for 0, which proto3 omits. */
export function writeUint(writer: ByteWriter, field: number, value: number): void {
  if (value === 0) return;
  writeTag(writer, field, WIRE.varint);
  writer.varint(value);
}

/** Writes a length-delimited field from bytes, even if it is empty. */
export function writeBytes(writer: ByteWriter, field: number, bytes: Uint8Array): void {
  writeTag(writer, field, WIRE.bytes);
  writer.varint(bytes.length);
  writer.copy(bytes, 0, bytes.length);
}

/** Writes a text field, or nothing for the empty text, which proto3 omits. */
export function writeText(writer: ByteWriter, field: number, text: string): void {
  if (text !== '') writeBytes(writer, field, Buffer.from(text));
}
