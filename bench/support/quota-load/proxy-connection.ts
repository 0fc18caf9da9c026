import { connect, type Socket } from 'node:net';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import {
  LARGEST_WINDOW,
  readSettings,
  SETTING,
  writePing,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../../src/http2/frame/control.ts';
import { FLAG, FRAME, readUint31, readUint32 } from '../../../src/http2/frame/frame.ts';
import { FrameReader, type ReceivedFrame } from '../frame-reader.ts';
import { goAwayText, trailersText } from '../grpc-load/fault-text.ts';
import { ActionScanner, type SeenActions } from './action-scanner.ts';
import { QUOTA_STREAM, type ReportFrames } from './report-frames.ts';

/** Who wants to know what happens on the connection of a proxy. */
export interface ProxyObserver {
  /** The server has answered so many buckets. */
  onActions(connection: ProxyConnection, actions: number, nowMs: number): void;
  /** Something that must not happen; the connection is of no more use. */
  onFault(text: string): void;
}

const DEFAULT_WINDOW = 65_535;
/** The window of the connection is widened again when half of it is used, and that of the stream with it. */
const CREDIT_BYTES = LARGEST_WINDOW >> 1;

/** The connection of a proxy, with its only stream: it sends prepared reports, and counts the actions that come back. */
export class ProxyConnection {
  /** Resolves when the server's SETTINGS have come and the stream is open. */
  readonly ready: Promise<void>;
  readonly #socket: Socket;
  readonly #frames: ReportFrames;
  readonly #observer: ProxyObserver;
  readonly #isReady = Promise.withResolvers<void>();
  readonly #reader = new FrameReader();
  readonly #scanner = new ActionScanner();
  readonly #control = new ByteWriter();
  /** Reports that are not sent completely, and the next frame of the first one. */
  #unsent = 0;
  #nextFrame = 0;
  #connectionWindow = DEFAULT_WINDOW;
  #streamWindow = DEFAULT_WINDOW;
  #initialWindow = DEFAULT_WINDOW;
  #uncredited = 0;
  #isClosed = false;

  constructor(port: number, frames: ReportFrames, observer: ProxyObserver) {
    this.#frames = frames;
    this.#observer = observer;
    this.ready = this.#isReady.promise;
    this.ready.catch(() => {});
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', chunk => this.#read(chunk as Buffer));
    this.#socket.on('error', error => this.#fault(`a connection failed: ${error.message}`));
    this.#socket.on('close', () => this.#fault('the server closed a connection'));
    const out = this.#control;
    out.copy(PREFACE, 0, PREFACE.length);
    writeSettings(out, [[SETTING.initialWindowSize, LARGEST_WINDOW]]);
    writeWindowUpdate(out, 0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.#flushControl();
  }

  get seen(): SeenActions {
    return this.#scanner.seen;
  }

  /** Sends a report of all buckets. */
  report(): void {
    this.#unsent++;
    this.#sendData();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  /** Sends as much of the reports as the windows allow. */
  #sendData(): void {
    const { data } = this.#frames;
    if (this.#isClosed || this.#unsent === 0) return;
    this.#socket.cork();
    while (this.#unsent > 0) {
      const { bytes, dataBytes } = data[this.#nextFrame];
      if (dataBytes > Math.min(this.#connectionWindow, this.#streamWindow)) break;
      this.#connectionWindow -= dataBytes;
      this.#streamWindow -= dataBytes;
      this.#socket.write(bytes);
      if (++this.#nextFrame < data.length) continue;
      this.#nextFrame = 0;
      this.#unsent--;
    }
    this.#socket.uncork();
  }

  #read(chunk: Buffer): void {
    const nowMs = performance.now();
    let actions = 0;
    this.#reader.read(chunk, frame => {
      if (frame.type === FRAME.data) {
        this.#uncredited += frame.end - frame.start;
        actions += this.#scanner.take(frame.bytes, frame.start, frame.end);
      } else this.#onFrame(frame);
    });
    if (this.#uncredited >= CREDIT_BYTES) {
      writeWindowUpdate(this.#control, 0, this.#uncredited);
      writeWindowUpdate(this.#control, QUOTA_STREAM, this.#uncredited);
      this.#uncredited = 0;
    }
    if (actions > 0) this.#observer.onActions(this, actions, nowMs);
    this.#sendData();
    this.#flushControl();
  }

  #onFrame({ type, flags, stream, bytes, start, end }: ReceivedFrame): void {
    const isAck = (flags & FLAG.ack) !== 0;
    if (type === FRAME.settings && !isAck) this.#onSettings(bytes, start, end);
    else if (type === FRAME.ping && !isAck) writePing(this.#control, 'ack', bytes, start);
    else if (type === FRAME.windowUpdate) {
      if (stream === 0) this.#connectionWindow += readUint31(bytes, start);
      else this.#streamWindow += readUint31(bytes, start);
    } else if (type === FRAME.headers && (flags & FLAG.endStream) !== 0)
      this.#fault(`the server ended a stream${trailersText(bytes, start - 9, end)}`);
    else if (type === FRAME.rstStream)
      this.#fault(`the server reset a stream with code ${readUint32(bytes, start)}`);
    else if (type === FRAME.goAway) this.#fault(`the server said GOAWAY${goAwayText(bytes, start, end)}`);
  }

  #onSettings(bytes: Uint8Array, start: number, end: number): void {
    readSettings(bytes, { start, end }, 0, (parameter, value) => {
      if (parameter !== SETTING.initialWindowSize) return;
      this.#streamWindow += value - this.#initialWindow;
      this.#initialWindow = value;
    });
    writeSettingsAck(this.#control);
    const { headers } = this.#frames;
    this.#control.copy(headers, 0, headers.length);
    this.#isReady.resolve();
  }

  #flushControl(): void {
    if (this.#control.length === 0 || this.#isClosed) return;
    this.#socket.write(this.#control.take());
    this.#control.reset();
  }

  #fault(text: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#isReady.reject(new Error(text));
    this.#observer.onFault(text);
  }
}
