import {
  ERROR,
  type Http2Fault,
  ON_CLOSED,
  ON_HALF_CLOSED,
  ON_IDLE,
  ON_SKIPPED,
  ON_STREAM_ZERO,
  REFUSED,
  streamFault,
  TOO_MANY_IDLE_FRAMES,
  TOO_MANY_LARGE_HEADERS,
  TOO_MANY_LATE_FRAMES,
  TOO_MUCH_SMALL_DATA,
  TRAILERS_NOT_LAST,
  WRONG_LENGTH,
} from '../faults.ts';
import { writeRstStream } from '../frame/control.ts';
import { FLAG, type Range, stripPadding } from '../frame/frame.ts';
import type { HeaderBlock } from '../hpack/header-list.ts';
import { Http2Stream } from '../streams/stream.ts';
import type { StreamTable } from '../streams/table.ts';
import type { Budgets, Progress } from './budgets.ts';
import type { ConnectionContext, StreamHandler } from './context.ts';
import type { ControlFrames } from './control-frames.ts';
import type { Drain } from './drain.ts';
import type { ConnectionLimits } from './limits.ts';
import type { ReceiveWindows } from './receive-windows.ts';
import { requestHead, trailerFault } from './request-head.ts';
import type { Sender } from './sender.ts';

/** `:status: 431` (Request Header Fields Too Large), a literal with an indexed name. */
const TOO_LARGE_BLOCK = Buffer.from('0803343331', 'hex');

/**
 * DATA frames on closed streams with at least this many bytes are not charged to the budget. They cost the peer more
 * than the server, and a whole window of them may be in flight when a call is refused early.
 */
const PAID_BYTES = 1_024;

/** A DATA frame below this size costs the server more than the peer, unless it ends its request. */
const SMALL_DATA_BYTES = 64;

const NOTHING = new Uint8Array(0);

/** Properties of a header section besides its fields. */
interface Section {
  readonly id: number;
  readonly endStream: boolean;
  /** The stream fault of its HEADERS frame; null without one. */
  readonly fault: Http2Fault | null;
}

/** Turns header sections and DATA frames into requests for the handler (RFC 9113, 8.1). */
export class Requests {
  readonly #limits: ConnectionLimits;
  readonly #handler: StreamHandler;
  readonly #progress: Progress;
  readonly #streams: StreamTable;
  readonly #sender: Sender;
  readonly #budgets: Budgets;
  readonly #windows: ReceiveWindows;
  readonly #control: ControlFrames;
  readonly #drain: Drain;
  readonly #range: Range = { start: 0, end: 0 };

  constructor(context: ConnectionContext, windows: ReceiveWindows, control: ControlFrames, drain: Drain) {
    this.#limits = context.limits;
    this.#handler = context.handler;
    this.#progress = context.progress;
    this.#streams = context.streams;
    this.#sender = context.sender;
    this.#budgets = context.budgets;
    this.#windows = windows;
    this.#control = control;
    this.#drain = drain;
  }

  /** Handles a complete header section: the head of a request, or its trailers. */
  onSection(block: HeaderBlock, section: Section): Http2Fault | null {
    const { id } = section;
    if (id > this.#streams.lastId) return this.#onHead(block, section);
    const stream = this.#streams.get(id);
    if (stream !== undefined) return section.fault ?? this.#onTrailers(stream, block, section.endStream);
    if (this.#streams.closed.wasSkipped(id)) return ON_SKIPPED;
    return this.#onNoStream(id, section.endStream, 0);
  }

  /** Handles a DATA frame (RFC 9113, 6.1). */
  onData(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    const size = end - start;
    const range = this.#range;
    range.start = start;
    range.end = end;
    const fault = this.#windows.receive(size) ?? stripPadding(bytes, flags, range, 0);
    if (fault !== null) return fault;
    const endStream = (flags & FLAG.endStream) !== 0;
    const content = range.end - range.start;
    if (content === 0 && !endStream && !this.#budgets.idleFrames.spend()) return TOO_MANY_IDLE_FRAMES;
    const stream = this.#streams.get(id);
    if (stream === undefined)
      return this.#streams.isIdle(id) ? ON_IDLE : this.#onNoStream(id, endStream, content);
    if (stream.state !== 'open') return ON_HALF_CLOSED;
    if (endStream) stream.state = 'halfClosed';
    else if (content > 0 && content < SMALL_DATA_BYTES && !this.#budgets.smallData.spend())
      return TOO_MUCH_SMALL_DATA;
    const exceeded = this.#windows.receiveOn(stream, size);
    if (exceeded !== null) return exceeded;
    stream.receivedBytes += content;
    if (stream.contentLength >= 0 && stream.receivedBytes > stream.contentLength) return WRONG_LENGTH;
    if (endStream) return this.#end(stream, bytes, range);
    if (!stream.isAnswered) this.#handler.data(stream, bytes, range.start, range.end, false);
    if (stream.state === 'open') this.#windows.replenish(stream);
    return null;
  }

  #onHead(block: HeaderBlock, { id, endStream, fault }: Section): Http2Fault | null {
    this.#streams.use(id);
    if (!this.#drain.serves(id)) return null;
    const stream = new Http2Stream(id, {
      sendWindow: this.#control.initialWindow,
      receiveWindow: this.#limits.streamWindow,
      nowMs: this.#progress.nowMs,
    });
    this.#streams.add(stream);
    if (endStream) stream.state = 'halfClosed';
    if (fault !== null) return fault;
    if (this.#streams.size > this.#limits.maxStreams) return REFUSED;
    if (block.tooLarge) {
      if (!this.#budgets.largeHeaders.spend()) return TOO_MANY_LARGE_HEADERS;
      this.#sender.headers(stream, TOO_LARGE_BLOCK, true);
      return null;
    }
    const head = requestHead(block);
    if (head.fault !== '') return streamFault(ERROR.protocolError, head.fault);
    if (endStream && head.contentLength > 0) return WRONG_LENGTH;
    stream.contentLength = head.contentLength;
    this.#progress.requests++;
    stream.announced = true;
    this.#handler.request(stream, head, endStream);
    return null;
  }

  #onTrailers(stream: Http2Stream, block: HeaderBlock, endStream: boolean): Http2Fault | null {
    if (stream.state !== 'open') return ON_HALF_CLOSED;
    if (!endStream) return TRAILERS_NOT_LAST;
    stream.state = 'halfClosed';
    const fault = trailerFault(block);
    if (fault !== '') return streamFault(ERROR.protocolError, fault);
    const range = this.#range;
    range.start = 0;
    range.end = 0;
    return this.#end(stream, NOTHING, range);
  }

  #end(stream: Http2Stream, bytes: Uint8Array, { start, end }: Range): Http2Fault | null {
    if (stream.contentLength >= 0 && stream.receivedBytes !== stream.contentLength) return WRONG_LENGTH;
    if (!stream.isAnswered) this.#handler.data(stream, bytes, start, end, true);
    return null;
  }

  /**
   * Handles HEADERS or DATA on a closed stream. Clients that cancel calls early can send HEADERS, RST_STREAM and then
   * DATA. This must not end the other calls of the connection.
   */
  #onNoStream(id: number, endStream: boolean, size: number): Http2Fault | null {
    if (!this.#drain.serves(id)) return null;
    const late = this.#streams.closed.late(id, endStream);
    if (late === 'fault') return ON_CLOSED;
    if (size < PAID_BYTES && !this.#budgets.lateFrames.spend()) return TOO_MANY_LATE_FRAMES;
    if (late === 'reset') writeRstStream(this.#sender.out, id, ERROR.streamClosed);
    return null;
  }
}
