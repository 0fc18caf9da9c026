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

/** All the ways in which a stream comes to its end. */
export class StreamEnds {
  readonly #context: ConnectionContext;

  constructor(context: ConnectionContext) {
    this.#context = context;
  }

  /** The last frame of the answer has been written. */
  answered(stream: Http2Stream): void {
    const { sender, streams } = this.#context;
    // The rest of the request is of no interest any more (RFC 9113, 8.1).
    if (stream.state === 'open') writeRstStream(sender.out, stream.id, ERROR.noError);
    streams.removeReset(stream);
  }

  /** The layer above gives the stream up. */
  reset(stream: Http2Stream, code: ErrorCode): void {
    const { sender, streams } = this.#context;
    sender.forget(stream);
    writeRstStream(sender.out, stream.id, code);
    streams.removeReset(stream);
  }

  /** We give the stream up for a reason that the layer above does not know. */
  abort(stream: Http2Stream, code: ErrorCode): void {
    this.reset(stream, code);
    this.#tell(stream, code);
  }

  /**
   * Answers a stream fault; returns what becomes of it for the connection. RST_STREAM has no place on a stream that is
   * idle or closed (RFC 9113, 5.1 and 6.4), so there the fault is one of the connection.
   */
  fail(id: number, fault: Http2Fault): Http2Fault | null {
    const { streams, budgets } = this.#context;
    const stream = streams.get(id);
    if (stream === undefined) return { ...fault, scope: 'connection' };
    // Peers that do not know our limit yet exceed it in good faith, so those streams have the larger allowance.
    const refused = fault.code === ERROR.refusedStream;
    const budget = refused ? budgets.resets : budgets.streamFaults;
    if (!budget.spend()) return refused ? TOO_MANY_RESETS : TOO_MANY_FAULTS;
    this.abort(stream, fault.code);
    return null;
  }

  /** RST_STREAM from the peer (RFC 9113, 6.4). */
  onRstStream(bytes: Uint8Array, start: number, end: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    const fault = checkRstStream(start, end);
    if (fault !== null) return fault;
    const { streams, sender } = this.#context;
    if (streams.isIdle(id)) return ON_IDLE;
    const stream = streams.get(id);
    if (!this.#mayReset(stream)) return TOO_MANY_RESETS;
    if (stream === undefined) {
      if (streams.closed.isUnfinished(id)) streams.closed.resetByPeer(id);
      return null;
    }
    if (stream.state === 'open') streams.closed.resetByPeer(id);
    sender.forget(stream);
    streams.remove(stream);
    this.#tell(stream, readUint32(bytes, start) as ErrorCode);
    return null;
  }

  /** The connection is over. */
  all(code: ErrorCode): void {
    const { streams, sender } = this.#context;
    for (const stream of [...streams.values()]) {
      sender.forget(stream);
      streams.remove(stream);
      this.#tell(stream, code);
    }
  }

  /**
   * Whether the peer may reset this stream. What makes resets dangerous is that work goes on behind them, beyond the
   * limit on streams. A caller that gave us time to answer is held by that limit, and resets as often as it has to:
   * when a store is slow, every call of a proxy ends so.
   */
  #mayReset(stream: Http2Stream | undefined): boolean {
    const { limits, budgets, progress } = this.#context;
    if (stream !== undefined && progress.nowMs - stream.openedMs >= limits.patienceMs) return true;
    return budgets.resets.spend();
  }

  #tell(stream: Http2Stream, code: ErrorCode): void {
    if (stream.announced) this.#context.handler.aborted(stream, code);
  }
}
