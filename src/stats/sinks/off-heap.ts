import { randomInt } from 'node:crypto';

/** Number of separate tables. With many tables, each stays small, because growing a large table blocks the thread. */
const SHARDS = 64;

/** A slot has two words for the hash, and one for the number + 1 (0: free). */
const SLOT_WORDS = 3;

const FIRST_SLOTS = 16;

/** Names may come from callers. Without a secret seed, callers could choose names with equal hashes. */
const SEED = randomInt(2 ** 32);

/**
 * Numbers names from 0 in the order in which they are added. It stores a 64-bit hash instead of the name: with a
 * million names, the probability that two of them are confused is about one in forty million. Strings in a map would
 * need several times the memory and slow down garbage collection.
 */
export class NameIndex {
  readonly #shards: Shard[] = Array.from({ length: SHARDS }, () => new Shard());
  #size = 0;

  /** Number of names. */
  get size(): number {
    return this.#size;
  }

  /** Returns the number of a name. A new name gets the next number, which is {@link size} before the call. */
  add({ high, low }: NameHash): number {
    const number = this.#shardOf(low).add(high, low, this.#size);
    if (number === this.#size) this.#size++;
    return number;
  }

  /** The number of a name, or -1. */
  find({ high, low }: NameHash): number {
    return this.#shardOf(low).find(high, low);
  }

  #shardOf(low: number): Shard {
    return this.#shards[low & (SHARDS - 1)];
  }
}

/** A table with open addressing. */
class Shard {
  #slots = new Int32Array(FIRST_SLOTS * SLOT_WORDS);
  #mask = FIRST_SLOTS - 1;
  #used = 0;

  find(high: number, low: number): number {
    return this.#slots[this.#slotOf(high, low) + 2] - 1;
  }

  add(high: number, low: number, number: number): number {
    let slot = this.#slotOf(high, low);
    const known = this.#slots[slot + 2] - 1;
    if (known >= 0) return known;
    if (this.#used * 2 > this.#mask) {
      this.#grow();
      slot = this.#slotOf(high, low);
    }
    this.#used++;
    this.#fill(slot, high, low, number + 1);
    return number;
  }

  /** Returns the slot with this hash, or the free slot where it belongs. */
  #slotOf(high: number, low: number): number {
    for (let at = high & this.#mask; ; at = (at + 1) & this.#mask) {
      const slot = at * SLOT_WORDS;
      if (this.#slots[slot + 2] === 0) return slot;
      if (this.#slots[slot] === high && this.#slots[slot + 1] === low) return slot;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let slot = 0; slot < before.length; slot += SLOT_WORDS) {
      const [high, low, held] = [before[slot], before[slot + 1], before[slot + 2]];
      if (held !== 0) this.#fill(this.#slotOf(high, low), high, low, held);
    }
  }

  #fill(slot: number, high: number, low: number, held: number): void {
    this.#slots[slot] = high;
    this.#slots[slot + 1] = low;
    this.#slots[slot + 2] = held;
  }
}

/** The hash of a name. */
export class NameHash {
  high = 0;
  low = 0;

  /** Computes the hash of `name` into this object. One object is reused for hundreds of thousands of names in a row. */
  of(name: string): this {
    let high = SEED ^ 0xdeadbeef;
    let low = SEED ^ 0x41c6ce57;
    for (let at = 0; at < name.length; at++) {
      const unit = name.charCodeAt(at);
      high = Math.imul(high ^ unit, 0x9e3779b1);
      low = Math.imul(low ^ unit, 0x5f356495);
      high ^= low >>> 15;
    }
    this.high = spread(high, low);
    this.low = spread(low, high);
    return this;
  }
}

function spread(own: number, other: number): number {
  const first = Math.imul(own ^ (own >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
  return Math.imul(first ^ (first >>> 13), 0x27d4eb2f) ^ (first >>> 16);
}

const CHUNK = 4_096;

/** A list of numbers that grows in chunks, so that `push` never copies existing numbers. */
export class GrowingNumbers {
  readonly #chunks: Float64Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length % CHUNK === 0) this.#chunks.push(new Float64Array(CHUNK));
    this.set(this.#length++, value);
  }

  get(at: number): number {
    return this.#chunks[Math.floor(at / CHUNK)][at % CHUNK];
  }

  set(at: number, value: number): void {
    this.#chunks[Math.floor(at / CHUNK)][at % CHUNK] = value;
  }
}

const CHUNK_BYTES = 64 * 1024;

/**
 * Stores many short texts as bytes outside the JavaScript heap. As strings, hundreds of thousands of them would be
 * copied by the garbage collector, which blocks the thread.
 */
export class TextArena {
  readonly #chunks: Buffer[] = [];
  #free = 0;
  #room = 0;

  /** Stores a text and returns its number for {@link get}. */
  add(text: string): number {
    // UTF-8 needs at most three bytes per UTF-16 code unit.
    if (this.#room < text.length * 3 + 4) this.#addChunk(text.length * 3 + 4);
    const chunk = this.#chunks[this.#chunks.length - 1];
    const at = this.#free;
    const length = chunk.write(text, at + 4);
    chunk.writeUInt32LE(length, at);
    this.#free += length + 4;
    this.#room -= length + 4;
    return (this.#chunks.length - 1) * 2 ** 32 + at;
  }

  get(number: number): string {
    const chunk = this.#chunks[Math.floor(number / 2 ** 32)];
    const at = number % 2 ** 32;
    return chunk.toString('utf8', at + 4, at + 4 + chunk.readUInt32LE(at));
  }

  #addChunk(atLeast: number): void {
    const bytes = Math.max(CHUNK_BYTES, atLeast);
    this.#chunks.push(Buffer.allocUnsafeSlow(bytes));
    this.#free = 0;
    this.#room = bytes;
  }
}
