import { NoDecision } from './no-decision.ts';

const INITIAL_BYTES = 1_024;
/** Maximum size of the tag and the length before the content of a field, and of a number. */
const MAX_HEAD_BYTES = 20;
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/**
 * Writes a protobuf message from its end to its beginning. The length of a nested message is then known when it is
 * written, so nothing is measured or moved. Fields and elements are therefore written in reverse order.
 */
export class BackwardWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES);
  #at = INITIAL_BYTES;

  /** Number of bytes written so far. Pass it to {@link nested} after the content of a nested message. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** Discards what was written. */
  clear(): void {
    this.#at = this.#bytes.length;
  }

  /** A copy of what was written, behind the prefix of a gRPC message: a byte for the compression, and the length. */
  takeMessage(): Buffer {
    const { length } = this;
    this.#reserve(MAX_HEAD_BYTES);
    this.#at -= 5;
    this.#bytes[this.#at] = 0;
    this.#bytes.writeUInt32BE(length, this.#at + 1);
    return Buffer.from(this.#bytes.subarray(this.#at));
  }

  text(field: number, value: string): void {
    const size = Buffer.byteLength(value);
    this.#reserve(size + MAX_HEAD_BYTES);
    this.#at -= size;
    this.#bytes.write(value, this.#at);
    this.#varint(size);
    this.#varint(field * 8 + BYTES);
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  uint(field: number, value: number): void {
    this.#reserve(MAX_HEAD_BYTES);
    this.#varint(value);
    this.#varint(field * 8 + VARINT);
  }

  /** Makes what was written since `length` was `before` the content of a nested message. */
  nested(field: number, before: number): void {
    this.#reserve(MAX_HEAD_BYTES);
    this.#varint(this.length - before);
    this.#varint(field * 8 + BYTES);
  }

  #varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) + 128;
    this.#bytes[at] = rest;
  }

  #reserve(size: number): void {
    if (this.#at >= size) return;
    const larger = Buffer.allocUnsafe(2 * (this.#bytes.length + size));
    const { length } = this;
    this.#bytes.copy(larger, larger.length - length, this.#at);
    this.#at = larger.length - length;
    this.#bytes = larger;
  }
}

/** Reads the fields of a protobuf message in place. */
export class WireReader {
  /** Number of the last field. */
  field = 0;
  readonly #bytes: Buffer;
  #at: number;
  #end: number;
  #type = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = 0;
    this.#end = bytes.length;
  }

  /** Moves to the next field. Returns false at the end of the message. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#type = tag % 8;
    return true;
  }

  /** The number of the field, which is exact below 2^53. */
  uint(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  text(): string {
    const end = this.#endOfBytes();
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return text;
  }

  /** Reads a nested message with `read`, which must call {@link next} until it returns false. */
  nested<T>(read: (reader: WireReader) => T): T {
    const outer = this.#end;
    this.#end = this.#endOfBytes();
    const value = read(this);
    this.#end = outer;
    return value;
  }

  skip(): void {
    if (this.#type === VARINT) this.#varint();
    else if (this.#type === BYTES) this.#at = this.#endOfBytes();
    else if (this.#type === FIXED_64) this.#at += 8;
    else if (this.#type === FIXED_32) this.#at += 4;
    else throw malformed();
    if (this.#at > this.#end) throw malformed();
  }

  #endOfBytes(): number {
    this.#expect(BYTES);
    const size = this.#varint();
    if (size > this.#end - this.#at) throw malformed();
    return this.#at + size;
  }

  #expect(type: number): void {
    if (this.#type !== type) throw malformed();
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 70; factor *= 128) {
      if (this.#at >= this.#end) throw malformed();
      const byte = this.#bytes[this.#at++];
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
    throw malformed();
  }
}

function malformed(): NoDecision {
  return new NoDecision('error_answer', 'The answer of the service is not a valid RateLimitResponse.');
}
