import type { ByteWriter } from '../../base/bytes.ts';
import { type Http2Fault, STREAM_WINDOW_EXCEEDED, WINDOW_EXCEEDED } from '../faults.ts';
import { writeWindowUpdate } from '../frame/control.ts';
import { DEFAULT_WINDOW, type Http2Stream, Window } from '../streams/stream.ts';

/**
 * What the peer may still send (RFC 9113, 5.2 and 6.9). A window is brought back to its target once half of it is used:
 * seldom enough to cost nothing, early enough that the peer need not pause.
 */
export class ReceiveWindows {
  readonly #out: ByteWriter;
  readonly #connection = new Window(DEFAULT_WINDOW);
  readonly #target: number;

  /** @param connectionWindow bytes of all requests; less than the 65,535 that the peer begins with cannot be granted */
  constructor(out: ByteWriter, connectionWindow: number) {
    this.#out = out;
    this.#target = Math.max(connectionWindow, DEFAULT_WINDOW);
  }

  /** Grants the peer what it may have beyond the window that every connection starts with. */
  open(): void {
    const more = this.#target - DEFAULT_WINDOW;
    if (more > 0) this.#widenConnection(more);
  }

  /** Counts the payload of a DATA frame, padding included, whatever becomes of its stream. */
  receive(size: number): Http2Fault | null {
    if (size > this.#connection.available) return WINDOW_EXCEEDED;
    this.#connection.consume(size);
    const missing = this.#target - this.#connection.available;
    if (missing * 2 >= this.#target) this.#widenConnection(missing);
    return null;
  }

  /** Counts it for its stream as well. */
  receiveOn(stream: Http2Stream, size: number): Http2Fault | null {
    if (size > stream.receiveWindow.available) return STREAM_WINDOW_EXCEEDED;
    stream.receiveWindow.consume(size);
    return null;
  }

  /** Lets the peer go on with a request of which more is to come. */
  replenish(stream: Http2Stream): void {
    const missing = stream.receiveTarget - stream.receiveWindow.available;
    if (missing * 2 >= stream.receiveTarget) this.#widen(stream, missing);
  }

  /** Widens a stream's window so that `bytes` more can come without a pause. */
  expect(stream: Http2Stream, bytes: number): void {
    const missing = bytes - stream.receiveWindow.available;
    if (missing <= 0) return;
    stream.receiveTarget = Math.max(stream.receiveTarget, bytes);
    this.#widen(stream, missing);
  }

  #widen(stream: Http2Stream, bytes: number): void {
    stream.receiveWindow.widen(bytes);
    writeWindowUpdate(this.#out, stream.id, bytes);
  }

  #widenConnection(bytes: number): void {
    this.#connection.widen(bytes);
    writeWindowUpdate(this.#out, 0, bytes);
  }
}
