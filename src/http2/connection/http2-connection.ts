import {
  BAD_PREFACE,
  BLOCK_INTERRUPTED,
  ERROR,
  type ErrorCode,
  FRAME_TOO_LONG,
  type Http2Fault,
  NOT_SETTINGS_FIRST,
  PUSH,
  TOO_MUCH_QUEUED,
} from '../faults.ts';
import { SETTING, writePing, writeSettings } from '../frame/control.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  frameLength,
  readUint31,
} from '../frame/frame.ts';
import type { Http2Stream } from '../streams/stream.ts';
import { StreamTable } from '../streams/table.ts';
import { budgetsOf, type Progress } from './budgets.ts';
import type { ConnectionContext, StreamHandler } from './context.ts';
import { ControlFrames } from './control-frames.ts';
import { Drain } from './drain.ts';
import { HeaderSections } from './header-sections.ts';
import type { ConnectionLimits } from './limits.ts';
import { Liveness } from './liveness.ts';
import { PartialFrame, PrefaceReader } from './partial-input.ts';
import { ReceiveWindows } from './receive-windows.ts';
import { Requests } from './requests.ts';
import { Sender } from './sender.ts';
import { StreamEnds } from './stream-ends.ts';

/**
 * Work is counted in octets, because nearly all costs of a frame grow with its length: decoding, hashing, matching.
 * Short frames count as this much, because a frame of 13 octets can be a complete request.
 */
const LEAST_FRAME_WORK = 64;

/** More work than one read can cause. */
const UNLIMITED_WORK = 0x3fff_ffff;

/** Opaque data of keepalive pings. */
const KEEPALIVE_PING = Buffer.from('alive?..');

const NO_LEAD = new Uint8Array(0);

/**
 * The server's end of an HTTP/2 connection (RFC 9113). It receives bytes, passes requests to the handler and appends
 * bytes for the peer to `output`. It uses neither sockets nor clocks: the transport passes in the time, writes the
 * output, and calls {@link tick} regularly to enforce the timeouts.
 */
export class Http2Connection {
  readonly #context: ConnectionContext;
  readonly #sender: Sender;
  readonly #beganMs: number;
  readonly #windows: ReceiveWindows;
  readonly #liveness: Liveness;
  readonly #drain: Drain;
  readonly #ends: StreamEnds;
  readonly #control: ControlFrames;
  readonly #requests: Requests;
  readonly #sections: HeaderSections;
  readonly #partial = new PartialFrame();
  readonly #preface = new PrefaceReader();
  readonly #progress: Progress;
  /** Frames are handled until `#progress.work` reaches this value. */
  #workLimit = UNLIMITED_WORK;
  #over = false;
  #fault: Http2Fault | null = null;

  constructor(limits: ConnectionLimits, handler: StreamHandler, nowMs: number) {
    const progress = { nowMs: 0, requests: 0, work: 0 };
    this.#progress = progress;
    this.#beganMs = nowMs;
    const sender = new Sender(progress, stream => this.#ends.answered(stream));
    const context: ConnectionContext = {
      limits,
      handler,
      progress,
      sender,
      streams: new StreamTable(),
      budgets: budgetsOf(limits, progress),
    };
    this.#context = context;
    this.#sender = sender;
    this.#windows = new ReceiveWindows(sender.out, limits.connectionWindow);
    this.#liveness = new Liveness(limits);
    this.#drain = new Drain(context);
    this.#ends = new StreamEnds(context);
    this.#control = new ControlFrames(context, this.#drain, this.#liveness);
    this.#requests = new Requests(context, this.#windows, this.#control, this.#drain);
    this.#sections = new HeaderSections(context, this.#requests);
    this.#greet();
  }

  /** Bytes for the peer. The transport writes them and resets the writer. */
  get output(): Sender['out'] {
    return this.#sender.out;
  }

  /** Whether the transport has to close the connection once the output is written. */
  get closed(): boolean {
    return this.#over || (this.#drain.announced && this.#context.streams.size === 0);
  }

  /** The protocol error that closed the connection; null if there was none. */
  get fault(): Http2Fault | null {
    return this.#fault;
  }

  get streamCount(): number {
    return this.#context.streams.size;
  }

  /** Response bytes that wait for the peer's windows. */
  get queuedBytes(): number {
    return this.#sender.queuedBytes;
  }

  /** Number of streams whose responses wait for the peer's windows. */
  get waitingStreams(): number {
    return this.#sender.waitingStreams;
  }

  /** Bytes of memory of an incomplete frame and an incomplete header section. */
  get unfinishedBytes(): number {
    return this.#partial.capacity + this.#sections.capacity;
  }

  /** Work of the frames of the last {@link receive}; see {@link LEAST_FRAME_WORK}. */
  get work(): number {
    return this.#progress.work;
  }

  /** Adds work that the length of the frames does not reflect. */
  addWork(work: number): void {
    this.#progress.work += work;
  }

  /**
   * Adds the work of a message of a stream of requests. It earns what a request does for the frames that come with
   * messages: short DATA frames, and the pings and window updates with which clients follow the responses. Resets and
   * faults do not come with messages.
   */
  addMessage(work: number): void {
    const { smallData, control, idleFrames } = this.#context.budgets;
    smallData.earnRequest();
    control.earnRequest();
    idleFrames.earnRequest();
    this.addWork(work);
  }

  /**
   * Handles bytes of the peer. Whole frames are handled immediately; the start of an incomplete frame is kept. Once the
   * work of the frames reaches `maxWork`, the remaining bytes are left to the caller.
   *
   * @returns the number of bytes handled
   */
  receive(chunk: Uint8Array, nowMs: number, maxWork = UNLIMITED_WORK): number {
    if (this.closed) return chunk.length;
    const sinceMs = nowMs - this.#beganMs;
    this.#progress.nowMs = sinceMs;
    this.#progress.work = 0;
    this.#workLimit = maxWork;
    this.#liveness.heard(sinceMs);
    const begin = this.#preface.take(chunk);
    if (this.#preface.isBroken) this.#fail(BAD_PREFACE);
    const middle = this.#partial.length > 0 ? this.#completePartial(chunk, begin) : begin;
    const rest = this.#frames(chunk, middle, chunk.length);
    if (this.closed) return chunk.length;
    if (this.#progress.work >= this.#workLimit) return rest;
    if (rest < chunk.length) this.#partial.begin(chunk, rest, sinceMs);
    return chunk.length;
  }

  /** Sends the head of a response. */
  sendHead(stream: Http2Stream, block: Uint8Array): void {
    if (stream.state !== 'closed') this.#sender.headers(stream, block);
  }

  /** Sends content of a response: `lead`, then `bytes`. Content that exceeds the windows waits. */
  sendData(stream: Http2Stream, bytes: Uint8Array, lead: Uint8Array = NO_LEAD): void {
    if (stream.state === 'closed') return;
    this.#sender.data(stream, lead, bytes);
    if (this.#sender.queuedBytes > this.#context.limits.maxQueuedBytes) this.#fail(TOO_MUCH_QUEUED);
  }

  /** Ends a response with a header section: its trailers, or its only section. */
  end(stream: Http2Stream, block: Uint8Array): void {
    if (stream.state !== 'closed') this.#sender.trailers(stream, block);
  }

  /** Resets a stream. The handler is not notified. */
  reset(stream: Http2Stream, code: ErrorCode): void {
    if (stream.state !== 'closed') this.#ends.reset(stream, code);
  }

  /** Widens the stream's window so that `bytes` more can arrive without a pause. */
  expect(stream: Http2Stream, bytes: number): void {
    if (stream.state === 'open') this.#windows.expect(stream, bytes);
  }

  /** Starts a graceful shutdown: open streams are answered, new ones are not (RFC 9113, 6.8). */
  drain(): void {
    if (this.closed) return;
    if (this.#liveness.settingsSeen) this.#drain.begin();
    // The peer has made no requests yet, so the graceful part is not needed.
    else this.#drain.announce();
  }

  /** Ends the connection immediately. The handler is notified for every open stream. */
  abort(code: ErrorCode): void {
    this.#forgetUnfinished();
    if (this.closed) return;
    this.#drain.goAway(code, '');
    this.#close(code);
  }

  /** Enforces the timeouts: for a peer that is late or silent, or that does not read its responses. */
  tick(nowMs: number): void {
    if (this.closed) return;
    const { progress, sender, limits } = this.#context;
    const sinceMs = nowMs - this.#beganMs;
    progress.nowMs = sinceMs;
    const late =
      this.#liveness.late(sinceMs) ?? this.#sections.late(sinceMs) ?? this.#partial.late(sinceMs, limits);
    if (late !== null) {
      this.#fail(late);
      return;
    }
    if (this.#liveness.shouldAsk(sinceMs)) writePing(sender.out, 'request', KEEPALIVE_PING, 0);
    this.#drain.tick(sinceMs);
    this.#giveUpStalled(sinceMs);
  }

  #greet(): void {
    const { sender, limits } = this.#context;
    writeSettings(sender.out, [
      [SETTING.maxConcurrentStreams, limits.maxStreams],
      [SETTING.initialWindowSize, limits.streamWindow],
      [SETTING.maxHeaderListSize, limits.maxHeaderListBytes],
    ]);
    this.#windows.open();
  }

  /** Handles the partial frame if the chunk completes it. Returns where the next frame begins in the chunk. */
  #completePartial(chunk: Uint8Array, at: number): number {
    const partial = this.#partial;
    const behind = partial.fill(chunk, at);
    if (this.#frames(partial.bytes, 0, partial.length) > 0) partial.clear();
    return behind;
  }

  /** Handles complete frames. Returns where the first incomplete frame begins. */
  #frames(bytes: Uint8Array, start: number, length: number): number {
    let at = start;
    while (length - at >= FRAME_HEADER_BYTES && this.#progress.work < this.#workLimit && !this.closed) {
      const size = frameLength(bytes, at);
      if (size > DEFAULT_MAX_FRAME_BYTES) {
        this.#fail(FRAME_TOO_LONG);
        break;
      }
      const end = at + FRAME_HEADER_BYTES + size;
      if (end > length) break;
      this.#progress.work += Math.max(end - at, LEAST_FRAME_WORK);
      this.#frame(bytes, at, end);
      at = end;
    }
    return at;
  }

  #frame(bytes: Uint8Array, at: number, end: number): void {
    const id = readUint31(bytes, at + 5);
    let fault = this.#dispatch(bytes, at, end, id);
    if (fault?.scope === 'stream') fault = this.#ends.fail(id, fault);
    if (fault !== null) this.#fail(fault);
  }

  #dispatch(bytes: Uint8Array, at: number, end: number, id: number): Http2Fault | null {
    const type = bytes[at + 3];
    const flags = bytes[at + 4];
    const start = at + FRAME_HEADER_BYTES;
    const { openStream } = this.#sections;
    if (openStream !== 0 && (type !== FRAME.continuation || id !== openStream)) return BLOCK_INTERRUPTED;
    if (!this.#liveness.settingsSeen && (type !== FRAME.settings || (flags & FLAG.ack) !== 0))
      return NOT_SETTINGS_FIRST;
    switch (type) {
      case FRAME.data:
        return this.#requests.onData(bytes, start, end, flags, id);
      case FRAME.headers:
        return this.#sections.onHeaders(bytes, start, end, flags, id);
      case FRAME.continuation:
        return this.#sections.onContinuation(bytes, start, end, flags);
      case FRAME.windowUpdate:
        return this.#control.onWindowUpdate(bytes, start, end, id);
      case FRAME.rstStream:
        return this.#ends.onRstStream(bytes, start, end, id);
      case FRAME.ping:
        return this.#control.onPing(bytes, start, end, flags, id);
      case FRAME.settings:
        return this.#control.onSettings(bytes, start, end, flags, id);
      case FRAME.priority:
        return this.#control.onPriority(bytes, start, end, id);
      case FRAME.goAway:
        return this.#control.onGoAway(start, end, id);
      case FRAME.pushPromise:
        return PUSH;
      default:
        return this.#control.onUnknown();
    }
  }

  /** Resets streams whose responses the peer does not read, to free their memory. */
  #giveUpStalled(nowMs: number): void {
    const untilMs = nowMs - this.#context.limits.stallMs;
    for (const stream of this.#sender.stalled(untilMs)) this.#ends.abort(stream, ERROR.cancel);
  }

  #fail(fault: Http2Fault): void {
    if (this.closed) return;
    this.#fault = fault;
    this.#drain.goAway(fault.code, fault.message);
    this.#close(fault.code);
  }

  #close(code: ErrorCode): void {
    this.#over = true;
    this.#forgetUnfinished();
    this.#ends.all(code);
  }

  #forgetUnfinished(): void {
    this.#partial.clear();
    this.#sections.clear();
  }
}
