/**
 * Reads what `cmsgpack.pack` of Redis writes (https://github.com/msgpack/msgpack/blob/master/spec.md): numbers, texts,
 * booleans and arrays. A packed value can contain other packed values as texts, so a text can also be read as bytes.
 *
 * @throws RangeError (each method) if the bytes are cut off or begin another type
 */
export class MsgpackReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Reads the length of the next array. */
  array(): number {
    const tag = this.#bytes[this.#at++];
    if ((tag & 0xf0) === 0x90) return tag & 0x0f;
    if (tag === 0xdc) return this.#unsigned(2);
    if (tag === 0xdd) return this.#unsigned(4);
    throw unexpected(tag, 'an array');
  }

  /** Reads the next text as a view of its bytes. */
  bytes(): Buffer {
    const tag = this.#bytes[this.#at++];
    const length = this.#textLength(tag);
    if (length < 0) throw unexpected(tag, 'a text');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Reads the next value as a number; NaN if it is not a number. */
  number(): number {
    const tag = this.#bytes[this.#at];
    if (tag < 0x80) {
      this.#at++;
      return tag;
    }
    const value = this.value();
    return typeof value === 'number' ? value : Number.NaN;
  }

  /** Reads the next value. Nil is read as false, because scripts do not pack nil. */
  value(): Packed {
    const tag = this.#bytes[this.#at++];
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    const length = this.#textLength(tag);
    if (length >= 0) {
      this.#at += length;
      return this.#bytes.toString('utf8', this.#at - length, this.#at);
    }
    switch (tag) {
      case 0xc0:
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        this.#at += 4;
        return this.#bytes.readFloatBE(this.#at - 4);
      case 0xcb:
        this.#at += 8;
        return this.#bytes.readDoubleBE(this.#at - 8);
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xcf:
        return this.#unsigned(4) * 0x1_0000_0000 + this.#unsigned(4);
      case 0xd0:
        return this.#bytes.readInt8(this.#at++);
      case 0xd1:
        this.#at += 2;
        return this.#bytes.readInt16BE(this.#at - 2);
      case 0xd2:
        this.#at += 4;
        return this.#bytes.readInt32BE(this.#at - 4);
      case 0xd3:
        this.#at += 8;
        return Number(this.#bytes.readBigInt64BE(this.#at - 8));
    }
    this.#at--;
    return this.values();
  }

  /** Reads the next array with its values. */
  values(): Packed[] {
    const length = this.array();
    const values: Packed[] = [];
    for (let i = 0; i < length; i++) values.push(this.value());
    return values;
  }

  /** The length of the text that begins with this tag, or -1 if the tag begins another type. */
  #textLength(tag: number): number {
    if ((tag & 0xe0) === 0xa0) return tag & 0x1f;
    if (tag === 0xd9) return this.#unsigned(1);
    if (tag === 0xda) return this.#unsigned(2);
    if (tag === 0xdb) return this.#unsigned(4);
    return -1;
  }

  #unsigned(bytes: 1 | 2 | 4): number {
    const at = this.#at;
    this.#at += bytes;
    if (bytes === 1) return this.#bytes[at];
    return bytes === 2 ? this.#bytes.readUInt16BE(at) : this.#bytes.readUInt32BE(at);
  }
}

export type Packed = number | string | boolean | Packed[];

function unexpected(tag: number, wanted: string): RangeError {
  return new RangeError(`a packed value of Redis begins with byte ${tag}, where ${wanted} belongs`);
}
