import { ByteWriter } from '../../base/bytes.ts';
import { DEFAULT_MAX_FRAME_BYTES, FRAME, writeFrameHeader } from '../frame/frame.ts';
import { writeHeaders } from '../frame/headers.ts';
import { INITIAL_TABLE_SIZE } from '../hpack/dynamic-table.ts';
import { DEFAULT_WINDOW, type Http2Stream, SendQueue, Window } from '../streams/stream.ts';
import type { Progress } from './budgets.ts';

/** Initial size of the output buffer: enough for SETTINGS, and little for many idle connections. */
const FIRST_OUTPUT_BYTES = 256;

/** Maximum frame length, even if the peer allows more: long frames delay the other streams. */
const LONGEST_FRAME_BYTES = 65_536;

/** A dynamic table size update to 0 (RFC 7541, 6.3). */
const NO_TABLE = Uint8Array.of(0x20);

/**
 * The sending half of a connection. Frames are appended to `out`, which the transport writes to the socket. Data waits
 * here while the flow-control windows of the peer are exhausted. Waiting streams are served round-robin, one frame
 * each.
 */
export class Sender {
  readonly out = new ByteWriter(FIRST_OUTPUT_BYTES);
  readonly window = new Window(DEFAULT_WINDOW);
  /** SETTINGS_MAX_FRAME_SIZE of the peer, up to LONGEST_FRAME_BYTES. */
  #maxFrameBytes = DEFAULT_MAX_FRAME_BYTES;
  /** The size of the dynamic table as the peer knows it. The table is always empty. */
  #tableBytes = INITIAL_TABLE_SIZE;
  /** Whether the next field block has to begin with a size update. */
  #tableUpdateDue = false;
  /** Bytes of all streams that wait for a window. */
  queuedBytes = 0;
  /** Bytes of data sent since the reader of this counter last set it to 0. */
  sentBytes = 0;
  /** Streams with waiting data; null until there is one, because most connections never have any. */
  #waiting: WaitingStreams | null = null;
  readonly #progress: Progress;
  readonly #finished: (stream: Http2Stream) => void;

  /** @param finished called when the last frame of a response has been written */
  constructor(progress: Progress, finished: (stream: Http2Stream) => void) {
    this.#progress = progress;
    this.#finished = finished;
  }

  /** Applies a SETTINGS_MAX_FRAME_SIZE of the peer. */
  setMaxFrameSize(bytes: number): void {
    this.#maxFrameBytes = Math.min(bytes, LONGEST_FRAME_BYTES);
  }

  /**
   * Applies a SETTINGS_HEADER_TABLE_SIZE of the peer. The server does not use the table, but a peer that reduces it
   * expects a size update (RFC 9113, 4.3.1). An update to 0 is the last one that is ever needed.
   */
  setTableSize(bytes: number): void {
    if (bytes < this.#tableBytes) this.#tableUpdateDue = true;
  }

  /** Sends a header block. */
  headers(stream: Http2Stream, block: Uint8Array, endStream = false): void {
    const options = { endStream, maxFrameBytes: this.#maxFrameBytes };
    writeHeaders(this.out, stream.id, this.#tableUpdateDue ? this.#withTableUpdate(block) : block, options);
    if (endStream) this.#finished(stream);
  }

  /**
   * Sends data, and queues a copy of what exceeds the windows. The data begins with `lead`, so that a prefix and a message
   * need not be joined: nearly all data is copied only once, into the output.
   */
  data(stream: Http2Stream, lead: Uint8Array, bytes: Uint8Array): void {
    const count = lead.length + bytes.length;
    if (stream.queue === null && count <= this.#room(stream) && count <= this.#maxFrameBytes) {
      const { out } = this;
      this.#dataHeader(stream, count);
      out.copy(lead, 0, lead.length);
      out.copy(bytes, 0, bytes.length);
    } else this.#parts(stream, Buffer.concat([lead, bytes]));
  }

  /** Ends the response with a header block, after the data that waits. */
  trailers(stream: Http2Stream, block: Uint8Array): void {
    if (stream.queuedBytes === 0) this.headers(stream, block, true);
    else stream.trailers = block;
  }

  /** Number of streams with waiting data. */
  get waitingStreams(): number {
    return this.#waiting === null ? 0 : this.#waiting.size;
  }

  /** Drops the waiting data of a stream. */
  forget(stream: Http2Stream): void {
    if (stream.queue === null) return;
    this.queuedBytes -= stream.queuedBytes;
    stream.queue = null;
    stream.trailers = null;
    this.#waiting?.delete(stream);
  }

  /** Continues sending after the connection window was widened. */
  resume(): void {
    if (this.#waiting === null) return;
    // A stream that was served moves to the end, so the loop visits it again.
    for (const stream of this.#waiting.ready) {
      if (this.window.available <= 0) return;
      this.#serve(stream, this.#waiting);
    }
  }

  /** Continues sending after the windows of all streams were changed. */
  resumeAll(): void {
    this.#waiting?.resized();
    this.resume();
  }

  /** Continues sending after the window of one stream was widened. The other streams are not affected. */
  resumeStream(stream: Http2Stream): void {
    if (this.#waiting === null) return;
    this.#waiting.widened(stream);
    while (stream.queuedBytes > 0 && this.#room(stream) > 0) this.#serve(stream, this.#waiting);
  }

  /** Waiting streams that have sent nothing since `untilMs`, in milliseconds since the connection began. */
  stalled(untilMs: number): readonly Http2Stream[] {
    return this.#waiting?.stalled(untilMs) ?? [];
  }

  /** Sends data that needs several frames or exceeds the windows. */
  #parts(stream: Http2Stream, bytes: Uint8Array): void {
    const at = stream.queuedBytes === 0 ? this.#sendNow(stream, bytes) : 0;
    if (at < bytes.length) this.#enqueue(stream, bytes, at);
  }

  #room(stream: Http2Stream): number {
    return Math.max(Math.min(this.window.available, stream.sendWindow.available), 0);
  }

  /** Sends what fits in the windows, an empty frame if there is no data. Returns where the rest begins. */
  #sendNow(stream: Http2Stream, bytes: Uint8Array): number {
    const end = bytes.length;
    let at = 0;
    do {
      const count = Math.min(end - at, this.#room(stream), this.#maxFrameBytes);
      if (count === 0 && at < end) break;
      this.#dataHeader(stream, count);
      this.out.copy(bytes, at, at + count);
      at += count;
    } while (at < end);
    return at;
  }

  #enqueue(stream: Http2Stream, bytes: Uint8Array, start: number): void {
    stream.queue ??= new SendQueue();
    this.#waiting ??= new WaitingStreams();
    if (stream.queuedBytes === 0) this.#wait(stream, this.#waiting);
    stream.queue.append(bytes, start, bytes.length);
    this.queuedBytes += bytes.length - start;
  }

  /** Sends one frame of a waiting stream whose windows allow it. */
  #serve(stream: Http2Stream, waiting: WaitingStreams): void {
    const queue = stream.queue as SendQueue;
    const count = Math.min(queue.size, this.#room(stream), this.#maxFrameBytes);
    this.#dataHeader(stream, count);
    queue.moveTo(this.out, count);
    this.queuedBytes -= count;
    waiting.delete(stream);
    if (queue.size > 0) {
      this.#wait(stream, waiting);
      return;
    }
    const { trailers } = stream;
    stream.trailers = null;
    if (trailers !== null) this.headers(stream, trailers, true);
  }

  #wait(stream: Http2Stream, waiting: WaitingStreams): void {
    stream.waitingSinceMs = this.#progress.nowMs;
    waiting.add(stream);
  }

  #dataHeader(stream: Http2Stream, count: number): void {
    this.window.consume(count);
    stream.sendWindow.consume(count);
    this.sentBytes += count;
    writeFrameHeader(this.out, count, FRAME.data, 0, stream.id);
  }

  #withTableUpdate(block: Uint8Array): Uint8Array {
    this.#tableUpdateDue = false;
    this.#tableBytes = 0;
    return Buffer.concat([NO_TABLE, block]);
  }
}

/**
 * The streams of a connection whose data waits for a window, in the order in which they are served. Streams whose own
 * window is exhausted are kept apart. Otherwise every update of the connection window would have to visit them all.
 */
export class WaitingStreams {
  /** Streams whose own window is open. */
  readonly #ready = new Set<Http2Stream>();
  /** Streams whose own window is exhausted. */
  readonly #shut = new Set<Http2Stream>();

  /** Number of waiting streams. */
  get size(): number {
    return this.#ready.size + this.#shut.size;
  }

  /**
   * Streams that can use the connection window. Iteration visits a stream again that was deleted and added meanwhile.
   */
  get ready(): Iterable<Http2Stream> {
    return this.#ready;
  }

  /** Adds a stream at the end. */
  add(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0) this.#ready.add(stream);
    else this.#shut.add(stream);
  }

  delete(stream: Http2Stream): void {
    if (!this.#ready.delete(stream)) this.#shut.delete(stream);
  }

  /** Call this when the window of one stream was widened. */
  widened(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0 && this.#shut.delete(stream)) this.#ready.add(stream);
  }

  /** Call this when the windows of all streams were changed, possibly narrowed. */
  resized(): void {
    const streams = [...this.#ready, ...this.#shut];
    this.#ready.clear();
    this.#shut.clear();
    for (const stream of streams) this.add(stream);
  }

  /** Streams that have sent nothing since `untilMs`. */
  stalled(untilMs: number): Http2Stream[] {
    return [...this.#ready, ...this.#shut].filter(stream => stream.waitingSinceMs < untilMs);
  }
}
