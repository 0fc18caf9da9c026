import {
  ERROR,
  type ErrorCode,
  type Http2Fault,
  ON_IDLE,
  ON_STREAM_ZERO,
  TOO_MANY_FAULTS,
  TOO_MANY_RESETS,
} from '../faults.ts';
import { checkRstStream, writeRstStream } from '../frame/control.ts';
import { readUint32 } from '../frame/frame.ts';
import type { Http2Stream } from '../streams/stream.ts';
import type { ConnectionContext } from './context.ts';

/** All the ways in which a stream can end. */
export class StreamEnds {
  readonly #context: ConnectionContext;

  constructor(context: ConnectionContext) {
    this.#context = context;
  }

  /** Ends a stream whose response has been written completely. */
  answered(stream: Http2Stream): void {
    const { sender, streams } = this.#context;
    // Tells the peer not to send the rest of the request (RFC 9113, 8.1).
    if (stream.state === 'open') writeRstStream(sender.out, stream.id, ERROR.noError);
    streams.removeReset(stream);
  }

  /** Resets a stream without notifying the handler, which asked for it. */
  reset(stream: Http2Stream, code: ErrorCode): void {
    const { sender, streams } = this.#context;
    sender.forget(stream);
    writeRstStream(sender.out, stream.id, code);
    streams.removeReset(stream);
  }

  /** Resets a stream and notifies the handler. */
  abort(stream: Http2Stream, code: ErrorCode): void {
    this.reset(stream, code);
    this.#notify(stream, code);
  }

  /**
   * Resets the stream of a stream fault. Returns a connection fault instead if the stream is idle or closed, where
   * RST_STREAM is not allowed (RFC 9113, 5.1 and 6.4), or if the budget for faults is exhausted.
   */
  fail(id: number, fault: Http2Fault): Http2Fault | null {
    const { streams, budgets } = this.#context;
    const stream = streams.get(id);
    if (stream === undefined) return { ...fault, scope: 'connection' };
    // Honest peers can exceed the stream limit before they know it, so refused streams have a larger budget.
    const refused = fault.code === ERROR.refusedStream;
    const budget = refused ? budgets.resets : budgets.streamFaults;
    if (!budget.spend()) return refused ? TOO_MANY_RESETS : TOO_MANY_FAULTS;
    this.abort(stream, fault.code);
    return null;
  }

  /** Handles RST_STREAM of the peer (RFC 9113, 6.4). */
  onRstStream(bytes: Uint8Array, start: number, end: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    const fault = checkRstStream(start, end);
    if (fault !== null) return fault;
    const { streams, sender } = this.#context;
    if (streams.isIdle(id)) return ON_IDLE;
    const stream = streams.get(id);
    if (!this.#mayReset(stream)) return TOO_MANY_RESETS;
    if (stream === undefined) {
      if (streams.closed.isUnfinished(id)) streams.closed.remember(id, true);
      return null;
    }
    if (stream.state === 'open') streams.closed.remember(id, true);
    sender.forget(stream);
    streams.remove(stream);
    this.#notify(stream, readUint32(bytes, start) as ErrorCode);
    return null;
  }

  /** Ends all streams when the connection closes. */
  all(code: ErrorCode): void {
    const { streams, sender } = this.#context;
    for (const stream of [...streams.values()]) {
      sender.forget(stream);
      streams.remove(stream);
      this.#notify(stream, code);
    }
  }

  /**
   * Whether the peer may reset this stream. Resets are dangerous because the work of reset calls continues while new
   * streams open, beyond the stream limit. Resets of streams that lived for some time are free: the stream limit bounds
   * their rate, and proxies reset all of their calls when a store is slow.
   */
  #mayReset(stream: Http2Stream | undefined): boolean {
    const { limits, budgets, progress } = this.#context;
    if (stream !== undefined && progress.nowMs - stream.openedMs >= limits.patienceMs) return true;
    return budgets.resets.spend();
  }

  #notify(stream: Http2Stream, code: ErrorCode): void {
    if (stream.announced) this.#context.handler.aborted(stream, code);
  }
}
