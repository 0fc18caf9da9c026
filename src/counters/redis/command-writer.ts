import { ByteWriter } from '../../base/bytes.ts';
import type { CounterBatch } from '../batch.ts';

/**
 * Writes commands as Redis reads them (RESP): `*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$1\r\n1\r\n`. Keys go from the batch to
 * the socket as bytes: making a text and an argument of each costs the client three times as much.
 */
export class CommandWriter {
  readonly #out = new ByteWriter(16_384);

  /** Begins a command of so many words, its name included. */
  command(words: number): void {
    this.#out.byte(42);
    this.#out.decimal(words);
    this.#lineEnd();
  }

  /** Appends what {@link encodedWords} made. */
  encoded(words: Uint8Array): void {
    this.#out.copy(words, 0, words.length);
  }

  key(batch: CounterBatch, slot: number): void {
    const start = batch.keyStart(slot);
    const end = batch.keyEnds[slot];
    this.#length(end - start);
    this.#out.copy(batch.keys.bytes, start, end);
    this.#lineEnd();
  }

  /** A whole number, not negative. Sums of hits may be beyond the numbers that print as digits. */
  number(value: number): void {
    if (value > Number.MAX_SAFE_INTEGER) {
      this.#ascii(BigInt(value).toString());
      return;
    }
    let digits = 1;
    for (let bound = 10; value >= bound; bound *= 10) digits++;
    this.#length(digits);
    this.#out.decimal(value);
    this.#lineEnd();
  }

  /** A copy of what was written; the next command begins a new text. */
  take(): Buffer {
    const bytes = Buffer.from(this.#out.view());
    this.#out.reset();
    return bytes;
  }

  #ascii(text: string): void {
    this.#length(text.length);
    this.#out.ascii(text);
    this.#lineEnd();
  }

  #length(bytes: number): void {
    this.#out.byte(36);
    this.#out.decimal(bytes);
    this.#lineEnd();
  }

  #lineEnd(): void {
    this.#out.byte(13);
    this.#out.byte(10);
  }
}

/** Words of a command, ready to be appended. */
export function encodedWords(...words: readonly string[]): Uint8Array {
  return Buffer.from(words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
}
