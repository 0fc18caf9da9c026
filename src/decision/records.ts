import { grownCapacity } from '../base/bytes.ts';

/** Bytes of a record before its text. */
export const RECORD_HEAD_BYTES = 5;

/** Memory is taken in at least such pieces. */
const INITIAL_BYTES = 16_384;

const NO_BYTES = new Uint8Array(0);

/**
 * Messages one after the other, so that all of them can be handed to another thread as one piece of memory:
 *
 *     kind     1 byte    see {@link REQUEST_KIND} and `ANSWER_KIND`
 *     length   4 bytes   of what follows, little-endian
 *     content
 */
export class Records {
  /** Holds the records in its first `length` bytes. */
  bytes: Uint8Array<ArrayBuffer> = NO_BYTES;
  length = 0;
  count = 0;

  /** Appends a record with a copy of `content`. */
  add(kind: number, content: Uint8Array): void {
    const size = content.length;
    let at = this.length;
    const end = at + RECORD_HEAD_BYTES + size;
    if (end > this.bytes.length) this.#grow(end);
    const { bytes } = this;
    writeHead(bytes, at, kind, size);
    at += RECORD_HEAD_BYTES;
    // A loop is faster than a call into the runtime for as few bytes as most messages have.
    if (size <= 64) for (let i = 0; i < size; i++) bytes[at++] = content[i];
    else bytes.set(content, at);
    this.length = end;
    this.count++;
  }

  /** Kind of the record at `at`; the first is at 0. */
  kindAt(at: number): number {
    return this.bytes[at];
  }

  /** Length of the content of the record at `at`. It lies behind the head, and the next record behind it. */
  sizeAt(at: number): number {
    const { bytes } = this;
    return bytes[at + 1] | (bytes[at + 2] << 8) | (bytes[at + 3] << 16) | (bytes[at + 4] << 24);
  }

  /** Changes the kind of the record at `at`. */
  markAt(at: number, kind: number): void {
    this.bytes[at] = kind;
  }

  /** Forgets the records and keeps the memory. */
  reset(): void {
    this.length = 0;
    this.count = 0;
  }

  /** Takes over memory with records in it, those of another thread, or with none. */
  take(memory: ArrayBuffer, length = 0, count = 0): void {
    this.bytes = new Uint8Array(memory);
    this.length = length;
    this.count = count;
  }

  /** Gives the memory away, and with it the records. */
  release(): ArrayBuffer {
    const { buffer } = this.bytes;
    this.bytes = NO_BYTES;
    this.reset();
    return buffer;
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(grownCapacity(Math.max(this.bytes.length, INITIAL_BYTES), needed));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

/** A record in memory of its own, with a copy of `content`. Returns the copy, which ends where the memory ends. */
export function ownRecord(kind: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const record = new Uint8Array(RECORD_HEAD_BYTES + content.length);
  writeHead(record, 0, kind, content.length);
  record.set(content, RECORD_HEAD_BYTES);
  return record.subarray(RECORD_HEAD_BYTES);
}

function writeHead(bytes: Uint8Array, at: number, kind: number, size: number): void {
  bytes[at] = kind;
  bytes[at + 1] = size;
  bytes[at + 2] = size >>> 8;
  bytes[at + 3] = size >>> 16;
  bytes[at + 4] = size >>> 24;
}

/** Records of requests: how the response is encoded, or that nobody waits for one. */
export const REQUEST_KIND = { protobuf: 0, json: 1, cancelled: 2 } as const;

/** Longer views are made each time: few messages are, and the list of kept ones stays short. */
const LONGEST = 4_096;

/**
 * Views of the beginning of a buffer that is filled again and again. Making one takes as long as encoding a response, so
 * there is one for each length, kept for the next message that has it.
 */
export class ReusedViews {
  #bytes: Uint8Array = new Uint8Array(0);
  #views: (Uint8Array | undefined)[] = [];

  /** `bytes[0, length)`; the same object each time while `bytes` is the same. */
  of(bytes: Uint8Array, length: number): Uint8Array {
    if (length > LONGEST) return bytes.subarray(0, length);
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#views = [];
    }
    let view = this.#views[length];
    if (view === undefined) {
      view = bytes.subarray(0, length);
      this.#views[length] = view;
    }
    return view;
  }
}
