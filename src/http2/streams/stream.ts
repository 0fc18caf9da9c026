import { ByteWriter } from '../../base/bytes.ts';
import { LARGEST_WINDOW } from '../frame/control.ts';

/** The window that both sides of a connection and of a stream start with (RFC 9113, 6.9.2). */
export const DEFAULT_WINDOW = 65_535;

/**
 * A flow-control window (RFC 9113, 6.9). It goes below zero when the peer shrinks the initial size after data was sent:
 * of 100 octets 80 are used, the initial size becomes 60, and -20 are left.
 */
export class Window {
  available: number;

  constructor(size: number) {
    this.available = size;
  }

  /** Takes what was sent or received. */
  consume(bytes: number): void {
    this.available -= bytes;
  }

  /** Widens the window; false, and no change, when it would go beyond 2^31 - 1 (RFC 9113, 6.9.1). */
  widen(bytes: number): boolean {
    if (this.available + bytes > LARGEST_WINDOW) return false;
    this.available += bytes;
    return true;
  }
}

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

/**
 * States of a stream as a server sees it (RFC 9113, 5.1). There is no push, so the reserved states do not occur; an
 * idle stream is one that the table does not know yet.
 *
 *     idle ──HEADERS──▶ open ──END_STREAM from the peer──▶ half closed ──our END_STREAM──▶ closed
 *                        │                                     │                             ▲
 *                        └── RST_STREAM of either side, or our END_STREAM and RST_STREAM ────┘
 */
type StreamState = 'open' | 'halfClosed' | 'closed';

/** One request and its answer. */
export class Http2Stream {
  readonly id: number;
  readonly openedMs: number;
  state: StreamState = 'open';
  /** Whether the layer above has been told of the request. */
  announced = false;
  readonly sendWindow: Window;
  readonly receiveWindow: Window;
  /** What the receive window is brought back to. */
  receiveTarget: number;
  /** `content-length` of the request; -1 when it has none. */
  contentLength = -1;
  receivedBytes = 0;
  /** Data that waits for a window; null until some has to. */
  queue: SendQueue | null = null;
  /** The block that ends the answer and waits behind the data; null when none does. */
  trailers: Uint8Array | null = null;
  /** Since when not one byte of the queue could be sent. */
  waitingSinceMs = 0;
  /** What the layer above keeps with the stream. */
  call: unknown = null;

  constructor(
    id: number,
    { sendWindow, receiveWindow, nowMs }: { sendWindow: number; receiveWindow: number; nowMs: number },
  ) {
    this.id = id;
    this.openedMs = nowMs;
    this.sendWindow = new Window(sendWindow);
    this.receiveWindow = new Window(receiveWindow);
    this.receiveTarget = receiveWindow;
  }

  /** Whether the answer is complete and waits: what still comes of the request is of no interest. */
  get isAnswered(): boolean {
    return this.trailers !== null;
  }

  /** Bytes of the answer that wait for a window. */
  get queuedBytes(): number {
    return this.queue === null ? 0 : this.queue.size;
  }
}
