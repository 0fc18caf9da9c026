import { ByteWriter } from '../../base/bytes.ts';
import { DEFAULT_MAX_FRAME_BYTES, FRAME, writeFrameHeader } from '../frame/frame.ts';
import { writeHeaders } from '../frame/headers.ts';
import { DEFAULT_WINDOW, type Http2Stream, SendQueue, Window } from '../streams/stream.ts';
import type { Progress } from './budgets.ts';

/** The first memory for output: enough for our SETTINGS, and little where many connections are idle. */
const FIRST_OUTPUT_BYTES = 256;

/** A larger SETTINGS_MAX_FRAME_SIZE of the peer is not made use of: long frames hold up the other streams. */
const LONGEST_FRAME_BYTES = 65_536;

/** SETTINGS_HEADER_TABLE_SIZE that holds until the peer says otherwise (RFC 9113, 6.5.2). */
const INITIAL_TABLE_BYTES = 4_096;

/** A dynamic table size update to 0 (RFC 7541, 6.3). */
const NO_TABLE = Uint8Array.of(0x20);

/**
 * The sending half of a connection: frames go into `out`, which the transport writes to the socket; data waits here
 * while the peer's windows are closed. Streams that wait are served in turn, a frame each.
 */
export class Sender {
  readonly out = new ByteWriter(FIRST_OUTPUT_BYTES);
  readonly window = new Window(DEFAULT_WINDOW);
  /** SETTINGS_MAX_FRAME_SIZE of the peer, as far as it is made use of. */
  #maxFrameBytes = DEFAULT_MAX_FRAME_BYTES;
  /** What the peer takes for the bound of our dynamic table, which is always empty. */
  #tableBytes = INITIAL_TABLE_BYTES;
  /** Whether the next field block has to begin with a size update. */
  #tableUpdateDue = false;
  /** Bytes that wait for a window, of all streams. */
  queuedBytes = 0;
  /** Bytes of data that were sent, since the owner of this figure set it to 0. */
  sentBytes = 0;
  /** Streams with data that waits; null until there is one, as most connections never have any. */
  #waiting: WaitingStreams | null = null;
  readonly #progress: Progress;
  readonly #finished: (stream: Http2Stream) => void;

  /** @param finished called when the last frame of an answer has been written */
  constructor(progress: Progress, finished: (stream: Http2Stream) => void) {
    this.#progress = progress;
    this.#finished = finished;
  }

  /** Takes over a SETTINGS_MAX_FRAME_SIZE of the peer. */
  setMaxFrameSize(bytes: number): void {
    this.#maxFrameBytes = Math.min(bytes, LONGEST_FRAME_BYTES);
  }

  /**
   * Takes over a SETTINGS_HEADER_TABLE_SIZE of the peer. Our blocks do without the table, but a peer that makes it
   * smaller waits for our word that it is (RFC 9113, 4.3.1); "0" is the last one that will be needed.
   */
  setTableSize(bytes: number): void {
    if (bytes < this.#tableBytes) this.#tableUpdateDue = true;
  }

  headers(stream: Http2Stream, block: Uint8Array, endStream = false): void {
    const options = { endStream, maxFrameBytes: this.#maxFrameBytes };
    writeHeaders(this.out, stream.id, this.#tableUpdateDue ? this.#withTableUpdate(block) : block, options);
    if (endStream) this.#finished(stream);
  }

  /** Sends data, and queues a copy of what the windows do not let through. */
  data(stream: Http2Stream, bytes: Uint8Array, start: number, end: number): void {
    const count = end - start;
    if (stream.queue === null && count <= this.#room(stream) && count <= this.#maxFrameBytes) {
      this.#dataHeader(stream, count);
      this.out.copy(bytes, start, end);
    } else this.#parts(stream, bytes, start, end);
  }

  /** Ends the answer with trailers, behind whatever waits. */
  trailers(stream: Http2Stream, block: Uint8Array): void {
    if (stream.queuedBytes === 0) this.headers(stream, block, true);
    else stream.trailers = block;
  }

  /** Number of streams with waiting data. */
  get waitingStreams(): number {
    return this.#waiting === null ? 0 : this.#waiting.size;
  }

  /** Drops what a stream has waiting. */
  forget(stream: Http2Stream): void {
    if (stream.queue === null) return;
    this.queuedBytes -= stream.queuedBytes;
    stream.queue = null;
    stream.trailers = null;
    this.#waiting?.delete(stream);
  }

  /** Goes on sending after the connection's window was widened. */
  resume(): void {
    if (this.#waiting === null) return;
    // A stream that was served stands behind the others then, and the loop comes to it again.
    for (const stream of this.#waiting.ready) {
      if (this.window.available <= 0) return;
      this.#serve(stream, this.#waiting);
    }
  }

  /** Goes on sending, where it still can, after the windows of all streams were changed. */
  resumeAll(): void {
    this.#waiting?.resized();
    this.resume();
  }

  /** Goes on sending after the window of one stream was widened; the others cannot use what is left for it. */
  resumeStream(stream: Http2Stream): void {
    if (this.#waiting === null) return;
    this.#waiting.widened(stream);
    while (stream.queuedBytes > 0 && this.#room(stream) > 0) this.#serve(stream, this.#waiting);
  }

  /** Streams of whose data nothing could be sent since `untilMs` or longer. */
  stalled(untilMs: number): readonly Http2Stream[] {
    return this.#waiting?.stalled(untilMs) ?? [];
  }

  /** Sends what is more than one frame, or more than the windows let through. */
  #parts(stream: Http2Stream, bytes: Uint8Array, start: number, end: number): void {
    const at = stream.queuedBytes === 0 ? this.#sendNow(stream, bytes, start, end) : start;
    if (at < end) this.#enqueue(stream, bytes, at, end);
  }

  #room(stream: Http2Stream): number {
    return Math.max(Math.min(this.window.available, stream.sendWindow.available), 0);
  }

  /** Sends as much as the windows let through; returns where the rest begins. Without data it is an empty frame. */
  #sendNow(stream: Http2Stream, bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    do {
      const count = Math.min(end - at, this.#room(stream), this.#maxFrameBytes);
      if (count === 0 && at < end) break;
      this.#dataHeader(stream, count);
      this.out.copy(bytes, at, at + count);
      at += count;
    } while (at < end);
    return at;
  }

  #enqueue(stream: Http2Stream, bytes: Uint8Array, start: number, end: number): void {
    stream.queue ??= new SendQueue();
    this.#waiting ??= new WaitingStreams();
    if (stream.queuedBytes === 0) this.#wait(stream, this.#waiting);
    stream.queue.append(bytes, start, end);
    this.queuedBytes += end - start;
  }

  /** Sends one frame of a stream that waits and has room. */
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
 * The streams of a connection whose data waits for a window, in the order in which it is their turn. Those that wait for
 * their own are kept apart: else each octet that the connection's window grows by would cost a look at all of them.
 */
export class WaitingStreams {
  /** Their own window is open. */
  readonly #ready = new Set<Http2Stream>();
  /** It is not. */
  readonly #shut = new Set<Http2Stream>();

  /** Number of waiting streams. */
  get size(): number {
    return this.#ready.size + this.#shut.size;
  }

  /** Those that can use the connection's window. One that is served and added again comes again, behind the others. */
  get ready(): Iterable<Http2Stream> {
    return this.#ready;
  }

  /** Puts a stream behind the others. */
  add(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0) this.#ready.add(stream);
    else this.#shut.add(stream);
  }

  delete(stream: Http2Stream): void {
    if (!this.#ready.delete(stream)) this.#shut.delete(stream);
  }

  /** The stream's own window was widened. */
  widened(stream: Http2Stream): void {
    if (stream.sendWindow.available > 0 && this.#shut.delete(stream)) this.#ready.add(stream);
  }

  /** The windows of all streams were changed, and perhaps narrowed. */
  resized(): void {
    const streams = [...this.#ready, ...this.#shut];
    this.#ready.clear();
    this.#shut.clear();
    for (const stream of streams) this.add(stream);
  }

  /** Streams of which nothing was sent since `untilMs` or longer. */
  stalled(untilMs: number): Http2Stream[] {
    return [...this.#ready, ...this.#shut].filter(stream => stream.waitingSinceMs < untilMs);
  }
}
