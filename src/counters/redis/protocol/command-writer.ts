import { grownCapacity } from '../../../base/bytes.ts';
import type { CounterBatch } from '../../batch.ts';

/** More than what a length or a number needs with all that is around it. */
const ROOM = 64;

/**
 * Writes commands as Redis reads them (RESP): `*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$1\r\n1\r\n`. Keys go from the batch to
 * the socket as bytes: making a text and an argument of each costs more than the rest of asking.
 */
export class CommandWriter {
  #bytes = new Uint8Array(16_384);
  #length = 0;

  /** Begins a command of so many words, its name included. */
  command(words: number): void {
    this.#reserve(ROOM);
    this.#bytes[this.#length++] = STAR;
    this.#decimalLine(words);
  }

  /** Appends what {@link encodedWords} made. */
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
    // Cheaper than a view of the bytes, up to the length of most keys.
    if (end - start <= 64) for (let i = start; i < end; i++) to[at++] = from[i];
    else {
      to.set(from.subarray(start, end), at);
      at += end - start;
    }
    this.#length = at;
    this.#lineEnd();
  }

  /** A whole number, not negative. Sums of hits may be beyond the numbers that print as digits. */
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

  /** A copy of what was written; the next command begins a new text. */
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

/** Words of a command, ready to be appended. */
export function encodedWords(...words: readonly string[]): Uint8Array {
  return Buffer.from(words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
}
