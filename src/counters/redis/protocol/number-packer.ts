import { grownCapacity } from '../../../base/bytes.ts';

/** Bytes of the longest number. */
const LONGEST = 9;
/** Bytes of the beginning of the array. */
const HEAD = 5;

/**
 * Packs numbers as an array of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), which scripts read
 * with `cmsgpack.unpack`.
 */
export class NumberPacker {
  #bytes = Buffer.alloc(4_096);
  #length = HEAD;
  #count = 0;

  /** @param value a whole number: up to 2^53, or above -2^31; or infinity */
  add(value: number): void {
    if (this.#length + LONGEST > this.#bytes.length) this.#grow();
    this.#count++;
    const bytes = this.#bytes;
    if (value >= 0 && value < 0x80) bytes[this.#length++] = value;
    else if (value < 0) {
      bytes[this.#length] = 0xd2;
      this.#length = bytes.writeInt32BE(value, this.#length + 1);
    } else if (value < 0x1_0000_0000) {
      bytes[this.#length] = 0xce;
      this.#length = bytes.writeUInt32BE(value, this.#length + 1);
    } else {
      bytes[this.#length] = 0xcb;
      this.#length = bytes.writeDoubleBE(value, this.#length + 1);
    }
  }

  /** Returns the array as a view, which is valid until the next number, and starts again. */
  take(): Uint8Array {
    this.#bytes[0] = 0xdd;
    this.#bytes.writeUInt32BE(this.#count, 1);
    const packed = this.#bytes.subarray(0, this.#length);
    this.#length = HEAD;
    this.#count = 0;
    return packed;
  }

  #grow(): void {
    const larger = Buffer.alloc(grownCapacity(this.#bytes.length, this.#length + LONGEST));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
