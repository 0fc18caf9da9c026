import { ByteWriter } from '../../base/bytes.ts';

/** Memory that an empty queue keeps. */
const KEEP_BYTES = 4_096;

/** Bytes of an answer that wait for a window of the peer. They were copied, and stand in one piece. */
export class SendQueue {
  readonly #bytes = new ByteWriter(0);
  /** How many of `#bytes` have left. */
  #sent = 0;

  get size(): number {
    return this.#bytes.length - this.#sent;
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#bytes.bytes.length;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    // Moving no more than has left makes the cost of a byte constant, however long a slow peer keeps the queue alive.
    if (this.#sent > 0 && this.#sent >= this.size) this.#compact();
    // Nearly all answers are one message. Growing in steps would use up to twice the memory.
    if (this.capacity === 0) this.#bytes.bytes = new Uint8Array(end - start);
    this.#bytes.copy(bytes, start, end);
  }

  /** Moves the first `count` bytes to the end of `to`. */
  moveTo(to: ByteWriter, count: number): void {
    to.copy(this.#bytes.bytes, this.#sent, this.#sent + count);
    this.#sent += count;
    if (this.size === 0) this.clear();
    else if (this.capacity > KEEP_BYTES && this.#sent >= this.size) this.#shrink();
  }

  clear(): void {
    this.#sent = 0;
    this.#bytes.reset();
    if (this.#bytes.bytes.length > KEEP_BYTES) this.#bytes.bytes = new Uint8Array(0);
  }

  /** Else a peer that takes all but the last byte would have the memory of the whole, and count for that byte. */
  #shrink(): void {
    this.#bytes.bytes = this.#bytes.bytes.slice(this.#sent, this.#bytes.length);
    this.#bytes.length -= this.#sent;
    this.#sent = 0;
  }

  #compact(): void {
    this.#bytes.bytes.copyWithin(0, this.#sent, this.#bytes.length);
    this.#bytes.length -= this.#sent;
    this.#sent = 0;
  }
}
