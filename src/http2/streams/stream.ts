import { ByteWriter } from '../../base/bytes.ts';
import { LARGEST_WINDOW } from '../frame/control.ts';

/** The initial flow-control window of connections and streams, in octets (RFC 9113, 6.9.2). */
export const DEFAULT_WINDOW = 65_535;

/**
 * A flow-control window (RFC 9113, 6.9). It becomes negative when the peer reduces the initial size after data was
 * sent: if 80 of 100 octets are used and the initial size changes to 60, -20 octets are available.
 */
export class Window {
  available: number;

  constructor(size: number) {
    this.available = size;
  }

  /** Subtracts the octets that were sent or received. */
  consume(bytes: number): void {
    this.available -= bytes;
  }

  /** Widens the window. Returns false and changes nothing if it would exceed 2^31 - 1 (RFC 9113, 6.9.1). */
  widen(bytes: number): boolean {
    if (this.available + bytes > LARGEST_WINDOW) return false;
    this.available += bytes;
    return true;
  }
}

/** An empty queue keeps its memory up to this size. */
const KEEP_BYTES = 4_096;

/** Copied response bytes that wait for a flow-control window of the peer, in one contiguous buffer. */
export class SendQueue {
  readonly #bytes = new ByteWriter(0);
  /** Number of leading bytes of `#bytes` that have been sent. */
  #sent = 0;

  /** Bytes that wait. */
  get size(): number {
    return this.#bytes.length - this.#sent;
  }

  /** Bytes of memory that the queue uses. */
  get capacity(): number {
    return this.#bytes.bytes.length;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    // Compact only when at least half was sent: the cost per byte is then constant, however slowly the peer reads.
    if (this.#sent > 0 && this.#sent >= this.size) this.#compact();
    // Nearly all responses are one message, so allocate its exact size. Growing in steps would use up to twice as much.
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

  /** Without this, a peer that leaves one byte unread would hold the memory of the whole response. */
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
 * States of a stream from the server's side (RFC 9113, 5.1). The server does not push, so the reserved states do not
 * occur. Idle streams are not in the table yet.
 *
 *     idle ──HEADERS──▶ open ──END_STREAM from the peer──▶ half closed ──our END_STREAM──▶ closed
 *                        │                                     │                             ▲
 *                        └── RST_STREAM of either side, or our END_STREAM and RST_STREAM ────┘
 */
type StreamState = 'open' | 'halfClosed' | 'closed';

/** One request and its response. */
export class Http2Stream {
  readonly id: number;
  /** Milliseconds since the connection began. */
  readonly openedMs: number;
  state: StreamState = 'open';
  /** Whether the handler has received the request. */
  announced = false;
  readonly sendWindow: Window;
  readonly receiveWindow: Window;
  /** The size that the receive window is replenished to. */
  receiveTarget: number;
  /** `content-length` of the request; -1 if it has none. */
  contentLength = -1;
  receivedBytes = 0;
  /** Data that waits for a window; null until there is some. */
  queue: SendQueue | null = null;
  /** The header block that ends the response, while it waits behind the data; otherwise null. */
  trailers: Uint8Array | null = null;
  /** When a byte of the queue was last sent, in milliseconds since the connection began. */
  waitingSinceMs = 0;
  /** State that the handler keeps with the stream. */
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

  /** Whether the response is complete and only waits to be sent. The rest of the request is then ignored. */
  get isAnswered(): boolean {
    return this.trailers !== null;
  }

  /** Bytes of the response that wait for a window. */
  get queuedBytes(): number {
    return this.queue === null ? 0 : this.queue.size;
  }
}
