import type { SendQueue } from './send-queue.ts';
import { Window } from './window.ts';

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
