import type { ByteWriter } from '../../base/bytes.ts';
import { type Http2Fault, STREAM_WINDOW_EXCEEDED, WINDOW_EXCEEDED } from '../faults.ts';
import { writeWindowUpdate } from '../frame/control.ts';
import { DEFAULT_WINDOW, type Http2Stream, Window } from '../streams/stream.ts';

/**
 * The receive windows of the connection and its streams (RFC 9113, 5.2 and 6.9). A window is replenished when half of
 * it is used: rarely enough to cost little, and early enough that the peer does not have to pause.
 */
export class ReceiveWindows {
  readonly #out: ByteWriter;
  readonly #connection = new Window(DEFAULT_WINDOW);
  readonly #target: number;

  /** @param connectionWindow bytes of all requests; at least 65,535, the initial window of every connection */
  constructor(out: ByteWriter, connectionWindow: number) {
    this.#out = out;
    this.#target = Math.max(connectionWindow, DEFAULT_WINDOW);
  }

  /** Widens the connection window from its initial size to its target. */
  open(): void {
    const more = this.#target - DEFAULT_WINDOW;
    if (more > 0) this.#widenConnection(more);
  }

  /** Counts the payload of a DATA frame for the connection, including padding and frames of closed streams. */
  receive(size: number): Http2Fault | null {
    if (size > this.#connection.available) return WINDOW_EXCEEDED;
    this.#connection.consume(size);
    const missing = this.#target - this.#connection.available;
    if (missing * 2 >= this.#target) this.#widenConnection(missing);
    return null;
  }

  /** Counts the payload of a DATA frame for its stream. */
  receiveOn(stream: Http2Stream, size: number): Http2Fault | null {
    if (size > stream.receiveWindow.available) return STREAM_WINDOW_EXCEEDED;
    stream.receiveWindow.consume(size);
    return null;
  }

  /** Replenishes the window of a stream whose request is not complete. */
  replenish(stream: Http2Stream): void {
    const missing = stream.receiveTarget - stream.receiveWindow.available;
    if (missing * 2 >= stream.receiveTarget) this.#widen(stream, missing);
  }

  /** Widens the window of a stream so that `bytes` more can arrive without a pause. */
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
