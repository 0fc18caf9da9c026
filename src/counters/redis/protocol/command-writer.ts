import { grownCapacity } from '../../../base/bytes.ts';
import type { CounterBatch } from '../../batch.ts';

/** The hash slot of a key is that of the text in its first braces, if there is one. So this text is never empty. */
export const TAG_START = Buffer.from('{l:');
export const TAG_END = Buffer.from('}');

/** Bytes to reserve for a number or a length with its prefix and line ends. */
const ROOM = 64;

/**
 * Encodes commands in the protocol of Redis (RESP): `*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$1\r\n1\r\n`. Keys are copied as bytes
 * from the batch, because converting each to a text and an argument costs more than the rest of a request.
 */
export class CommandWriter {
  #bytes = new Uint8Array(16_384);
  #length = 0;

  /** @param words number of words of the command, including its name */
  command(words: number): void {
    this.#reserve(ROOM);
    this.#bytes[this.#length++] = STAR;
    this.#decimalLine(words);
  }

  /** @param words result of {@link encodedWords} */
  encoded(words: Uint8Array): void {
    this.#reserve(words.length);
    this.#bytes.set(words, this.#length);
    this.#length += words.length;
  }

  key(batch: CounterBatch, slot: number): void {
    const start = batch.keyStart(slot);
    const end = batch.keyEnds[slot];
    this.#reserve(end - start + ROOM);
    this.#bytes[this.#length++] = DOLLAR;
    this.#decimalLine(end - start);
    const from = batch.keys.bytes;
    const to = this.#bytes;
    let at = this.#length;
    // For most keys, a loop is cheaper than a view of the bytes.
    if (end - start <= 64) for (let i = start; i < end; i++) to[at++] = from[i];
    else {
      to.set(from.subarray(start, end), at);
      at += end - start;
    }
    this.#length = at;
    this.#lineEnd();
  }

  /** The name of a key that belongs to the key of a slot: `{l:<key>}<suffix>`. Those of one slot have the same hash slot. */
  relatedKey(batch: CounterBatch, slot: number, suffix: number): void {
    const start = batch.keyStart(slot);
    const end = batch.keyEnds[slot];
    const length = end - start + TAG_START.length + 2;
    this.#reserve(length + ROOM);
    this.#bytes[this.#length++] = DOLLAR;
    this.#decimalLine(length);
    this.#bytes.set(TAG_START, this.#length);
    this.#bytes.set(batch.keys.bytes.subarray(start, end), this.#length + TAG_START.length);
    this.#length += length;
    this.#bytes[this.#length - 2] = TAG_END[0];
    this.#bytes[this.#length - 1] = suffix;
    this.#lineEnd();
  }

  /** @param value a whole number, not negative; sums of hits can exceed the safe integers */
  number(value: number): void {
    this.#reserve(ROOM);
    if (value > Number.MAX_SAFE_INTEGER) {
      this.encoded(encodedWords(BigInt(value).toString()));
      return;
    }
    this.#bytes[this.#length++] = DOLLAR;
    this.#decimalLine(digitsOf(value));
    this.#decimalLine(value);
  }

  /** A word of any bytes. */
  word(bytes: Uint8Array): void {
    this.#reserve(bytes.length + ROOM);
    this.#bytes[this.#length++] = DOLLAR;
    this.#decimalLine(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    this.#lineEnd();
  }

  /** Returns a copy of the encoded commands, and starts again. */
  take(): Buffer {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return bytes;
  }

  #decimalLine(value: number): void {
    if (value < 10) this.#bytes[this.#length++] = ZERO + value;
    else {
      const bytes = this.#bytes;
      const end = this.#length + digitsOf(value);
      let rest = value;
      for (let at = end - 1; at >= this.#length; at--) {
        const tens = Math.floor(rest / 10);
        bytes[at] = ZERO + (rest - tens * 10);
        rest = tens;
      }
      this.#length = end;
    }
    this.#lineEnd();
  }

  #lineEnd(): void {
    this.#bytes[this.#length++] = 13;
    this.#bytes[this.#length++] = 10;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(grownCapacity(this.#bytes.length, needed));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

const STAR = 42;
const DOLLAR = 36;
const ZERO = 48;

function digitsOf(value: number): number {
  let digits = 1;
  for (let bound = 10; value >= bound; bound *= 10) digits++;
  return digits;
}

/** Encodes words of a command. */
export function encodedWords(...words: readonly string[]): Uint8Array {
  return Buffer.from(words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
}
