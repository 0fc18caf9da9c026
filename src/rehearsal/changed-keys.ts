import { TEXT_BYTES } from '../decision/hot-keys/key-text.ts';

/** Number of changes that are remembered. */
const CHANGES = 1_024;

/**
 * What of a change is remembered beside the text of its key: the number of its write, the candidate's limit (-1 for none)
 * and whether the candidate rejects it.
 */
const COLUMN = { write: 0, limit: 1, rejected: 2 } as const;
const WORDS = 4;

/** A descriptor whose outcome the candidate rules change. */
export interface ChangedKey {
  /** Number of the candidate's limit; -1 if none applies. */
  readonly limit: number;
  /** True if the candidate rejects it and the active rules do not; false for the reverse. */
  readonly isRejected: boolean;
  /** A copy of its text, which `readKeyText` reads. */
  readonly text: Buffer;
}

/**
 * The last descriptors whose outcome the candidate rules change, in memory that all threads share: a ring in which each
 * write takes the next place. A write is marked as complete at its end, so that a reader skips places that are being
 * written. Two threads can only meet in a place if one of them is suspended for a whole round.
 */
export class ChangedKeys {
  readonly #next: Int32Array<SharedArrayBuffer>;
  readonly #words: Int32Array;
  readonly #texts: Uint8Array;

  private constructor(buffer: SharedArrayBuffer) {
    this.#next = new Int32Array(buffer, 0, WORDS);
    this.#words = new Int32Array(buffer, WORDS * 4, CHANGES * WORDS);
    this.#texts = new Uint8Array(buffer, (1 + CHANGES) * WORDS * 4);
  }

  static create(): ChangedKeys {
    return new ChangedKeys(new SharedArrayBuffer((1 + CHANGES) * WORDS * 4 + CHANGES * TEXT_BYTES));
  }

  /** The ring of another thread, from its {@link buffer}. */
  static attach(buffer: SharedArrayBuffer): ChangedKeys {
    return new ChangedKeys(buffer);
  }

  get buffer(): SharedArrayBuffer {
    return this.#next.buffer;
  }

  /** @param text of `TEXT_BYTES`, from a `KeyTextWriter` */
  add(limit: number, isRejected: boolean, text: Uint8Array): void {
    const write = Atomics.add(this.#next, 0, 1) + 1;
    const place = (write >>> 0) % CHANGES;
    const at = place * WORDS;
    Atomics.store(this.#words, at + COLUMN.write, 0);
    this.#words[at + COLUMN.limit] = limit;
    this.#words[at + COLUMN.rejected] = isRejected ? 1 : 0;
    this.#texts.set(text, place * TEXT_BYTES);
    Atomics.store(this.#words, at + COLUMN.write, write);
  }

  /** All remembered changes, in no particular order. */
  all(): ChangedKey[] {
    const found: ChangedKey[] = [];
    for (let place = 0; place < CHANGES; place++) {
      const at = place * WORDS;
      const write = Atomics.load(this.#words, at + COLUMN.write);
      if (write === 0) continue;
      const change = {
        limit: this.#words[at + COLUMN.limit],
        isRejected: this.#words[at + COLUMN.rejected] === 1,
        text: Buffer.from(this.#texts.slice(place * TEXT_BYTES, (place + 1) * TEXT_BYTES).buffer),
      };
      if (Atomics.load(this.#words, at + COLUMN.write) === write) found.push(change);
    }
    return found;
  }
}
