import { withoutPlace } from '../../../clients/redis/errors.ts';

/** What a script answered: numbers, NaN where a key could not be counted, and the first error, empty for none. */
interface ScriptReply {
  readonly numbers: Float64Array;
  readonly failure: string;
}

/**
 * Reads the reply of a script: an array, or the same as MessagePack in one string, of which Redis and the client make
 * far less work. Null when it is not what was expected.
 */
export function readScriptReply(reply: unknown, expected: number): ScriptReply | null {
  if (Buffer.isBuffer(reply)) return readPacked(reply, expected);
  if (!Array.isArray(reply) || reply.length !== expected + 1) return null;
  const numbers = new Float64Array(expected);
  for (let i = 0; i < expected; i++) {
    numbers[i] = typeof reply[i] === 'number' ? reply[i] : Number.NaN;
  }
  const failure: unknown = reply[expected];
  return { numbers, failure: failure === null || failure === undefined ? '' : withoutPlace(String(failure)) };
}

/** An array of whole numbers and `false`; then a text or `false`. */
function readPacked(bytes: Buffer, expected: number): ScriptReply | null {
  const reader = new PackedReader(bytes);
  try {
    if (reader.arrayLength() !== expected + 1) return null;
    const numbers = new Float64Array(expected);
    for (let i = 0; i < expected; i++) numbers[i] = reader.number();
    return { numbers, failure: withoutPlace(reader.text()) };
  } catch (cut) {
    if (cut instanceof RangeError) return null;
    throw cut;
  }
}

const FALSE = 0xc2;

class PackedReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  arrayLength(): number {
    const tag = this.#bytes[this.#at++];
    if (tag >= 0x90 && tag <= 0x9f) return tag & 15;
    if (tag === 0xdc) return this.#unsigned(2);
    return tag === 0xdd ? this.#unsigned(4) : -1;
  }

  /** NaN for what is no number. */
  number(): number {
    const bytes = this.#bytes;
    const tag = bytes[this.#at++];
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 256;
    if (tag === 0xcc) return bytes[this.#at++];
    if (tag === 0xcd) return this.#unsigned(2);
    if (tag === 0xce) return this.#unsigned(4);
    return tag === FALSE ? Number.NaN : this.#largeNumber(tag);
  }

  /** Empty for `false`. */
  text(): string {
    const bytes = this.#bytes;
    const tag = bytes[this.#at++];
    let length = 0;
    if (tag >= 0xa0 && tag <= 0xbf) length = tag & 31;
    else if (tag === 0xd9) length = this.#unsigned(1);
    else if (tag === 0xda) length = this.#unsigned(2);
    else if (tag === 0xdb) length = this.#unsigned(4);
    return length === 0 ? '' : bytes.toString('utf8', this.#at, this.#at + length);
  }

  #largeNumber(tag: number): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const size = SIZES.get(tag);
    if (size === undefined) return Number.NaN;
    this.#at += size;
    if (tag === 0xcb) return bytes.readDoubleBE(at);
    if (tag === 0xca) return bytes.readFloatBE(at);
    if (tag === 0xcf) return Number(bytes.readBigUInt64BE(at));
    return size === 8 ? Number(bytes.readBigInt64BE(at)) : bytes.readIntBE(at, size);
  }

  #unsigned(size: number): number {
    const at = this.#at;
    this.#at += size;
    return this.#bytes.readUIntBE(at, size);
  }
}

/** Bytes after the tag: floats, unsigned and signed numbers. */
const SIZES: ReadonlyMap<number, number> = new Map([
  [0xca, 4],
  [0xcb, 8],
  [0xcf, 8],
  [0xd0, 1],
  [0xd1, 2],
  [0xd2, 4],
  [0xd3, 8],
]);
