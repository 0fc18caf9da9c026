import { grownCapacity } from '../base/bytes.ts';

/** Bytes of a record before its content. */
export const RECORD_HEAD_BYTES = 5;

/** Minimum capacity. */
const INITIAL_BYTES = 16_384;

const NO_BYTES = new Uint8Array(0);

/**
 * Messages in one buffer, which can be transferred to another thread as a whole:
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
    // For short messages, which are most, a loop is faster than a call into the runtime.
    if (size <= 64) for (let i = 0; i < size; i++) bytes[at++] = content[i];
    else bytes.set(content, at);
    this.length = end;
    this.count++;
  }

  /** Kind of the record at `at`. The first record is at 0. */
  kindAt(at: number): number {
    return this.bytes[at];
  }

  /** Length of the content of the record at `at`. The content follows the head; the next record follows the content. */
  sizeAt(at: number): number {
    const { bytes } = this;
    return bytes[at + 1] | (bytes[at + 2] << 8) | (bytes[at + 3] << 16) | (bytes[at + 4] << 24);
  }

  /** Changes the kind of the record at `at`. */
  markAt(at: number, kind: number): void {
    this.bytes[at] = kind;
  }

  /** Replaces all records with a copy of those of `other`. */
  copyOf({ bytes, length, count }: Records): void {
    if (length > this.bytes.length) this.#grow(length);
    this.bytes.set(bytes.subarray(0, length));
    this.length = length;
    this.count = count;
  }

  /** Removes all records and keeps the memory. */
  reset(): void {
    this.length = 0;
    this.count = 0;
  }

  /** Takes over memory, for example with the records of another thread. */
  take(memory: ArrayBuffer, length = 0, count = 0): void {
    this.bytes = new Uint8Array(memory);
    this.length = length;
    this.count = count;
  }

  /** Gives up the memory with the records, and returns it. */
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

/** Creates a record with a copy of `content` in a separate buffer. Returns the copy, which ends at the end of the buffer. */
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

/** Kinds of request records: the encoding of the response, or that the call was canceled. */
export const REQUEST_KIND = { protobuf: 0, json: 1, cancelled: 2, http: 3 } as const;

/** Longer views are not cached: they are rare. */
const LONGEST = 4_096;

/**
 * Cached views of the beginning of a reused buffer, one for each length. Creating a view takes as long as encoding a
 * response.
 */
export class ReusedViews {
  #bytes: Uint8Array = new Uint8Array(0);
  #views: (Uint8Array | undefined)[] = [];

  /** The view `bytes[0, length)`. */
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
