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
import {
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  frameLength,
  readUint31,
  readUint32,
} from '../../../src/http2/frame/frame.ts';
import type { CallNumbers } from './call-numbers.ts';
import { goAwayText, trailersText } from './fault-text.ts';
import type { RequestFrames } from './request-frames.ts';

export interface CallObserver {
  /** A call was answered with this overall code; `startedMs` as it was given to {@link CallConnection.begin}. */
  onAnswer(code: number, startedMs: number, nowMs: number): void;
  /** Everything that one read brought has been told. */
  onRead(connection: CallConnection, answered: number, nowMs: number): void;
  /** The server asked the client to reconnect. Calls in progress are still answered; no more calls begin here. */
  onGoAway(connection: CallConnection): void;
  /** Something that must not happen; the connection is of no more use. */
  onFault(text: string): void;
}

export interface CallConnectionOptions {
  readonly port: number;
  readonly frames: RequestFrames;
  readonly numbers: CallNumbers;
  readonly observer: CallObserver;
}

const READ_BYTES = 65_536;
const DEFAULT_WINDOW = 65_535;
/** SETTINGS_HEADER_TABLE_SIZE that holds until it is changed (RFC 9113, 6.5.2). */
const DEFAULT_TABLE_BYTES = 4_096;
/** Windows of the answers are as large as can be; the connection's is widened again when half of it is used. */
const CREDIT_BYTES = LARGEST_WINDOW >> 1;
/** Places for open calls. Streams are handed out in order, so two calls never share one unless one is very late. */
const PLACES = 16_384;
/** The overall code is the first field of the message: a tag, then its value in one byte. */
const CODE_AT = 6;
const CODE_TAG = 0x08;

/**
 * A client's connection that does as little as it can for a call: copies prepared frames, looks for the overall code in
 * DATA and for END_STREAM. Header fields of answers are not decoded; an answer without a message is a fault.
 */
export class CallConnection {
  /** Resolves when the server's SETTINGS have come. */
  readonly ready: Promise<void>;
  readonly #socket: Socket;
  readonly #frames: RequestFrames;
  readonly #numbers: CallNumbers;
  readonly #observer: CallObserver;
  readonly #isReady = Promise.withResolvers<void>();
  /** Of each open call: when it began, or NaN where there is none, and its code, -1 while there is no message. */
  readonly #startedMs = new Float64Array(PLACES).fill(Number.NaN);
  readonly #codes = new Int16Array(PLACES);
  /** When calls began that cannot be sent yet. */
  readonly #heldMs: number[] = [];
  readonly #control = new ByteWriter();
  #rest: Buffer | null = null;
  #nextStream = 1;
  #openCalls = 0;
  #maxStreams = Number.POSITIVE_INFINITY;
  #window = DEFAULT_WINDOW;
  #uncredited = 0;
  #answered = 0;
  #isClosed = false;
  #isLeaving = false;

  constructor({ port, frames, numbers, observer }: CallConnectionOptions) {
    this.#frames = frames;
    this.#numbers = numbers;
    this.#observer = observer;
    this.ready = this.#isReady.promise;
    this.ready.catch(() => {});
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const callback = (count: number): boolean => {
      this.#read(buffer.subarray(0, count));
      return true;
    };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
    this.#socket.on('error', error => this.#fault(`a connection failed: ${error.message}`));
    this.#socket.on('close', () => {
      if (this.#isLeaving && this.#openCalls === 0) this.close();
      else this.#fault('the server closed a connection');
    });
    const out = this.#control;
    out.copy(PREFACE, 0, PREFACE.length);
    writeSettings(out, [[SETTING.initialWindowSize, LARGEST_WINDOW]]);
    writeWindowUpdate(out, 0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.#flushControl();
  }

  /** Calls that are open or wait to be sent. */
  get pending(): number {
    return this.#openCalls + this.#heldMs.length;
  }

  /** Begins so many calls in one write. Those that the server does not take yet follow as soon as it does. */
  begin(count: number, startedMs: number): void {
    const room = this.#heldMs.length > 0 ? 0 : this.#room();
    for (let held = Math.max(count - room, 0); held > 0; held--) this.#heldMs.push(startedMs);
    this.#send(Math.min(count, room), () => startedMs);
  }

  /** Takes the calls that could not be sent: when they began. */
  takeHeld(): number[] {
    return this.#heldMs.splice(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  /** How many calls the windows and the bound of open streams let through. */
  #room(): number {
    return Math.min(Math.floor(this.#window / this.#frames.dataBytes), this.#maxStreams - this.#openCalls);
  }

  #sendHeld(): void {
    const count = Math.min(this.#heldMs.length, this.#room());
    const started = this.#heldMs.splice(0, count);
    this.#send(count, i => started[i]);
  }

  #send(count: number, startedMs: (i: number) => number): void {
    if (count <= 0 || this.#isClosed) return;
    const frames = this.#frames;
    // One call's frames may be longer: the first of the connection.
    const bytes = frames.sizeOn(this.#nextStream) + (count - 1) * frames.sizeOn(this.#nextStream + 2);
    const out = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (let i = 0; i < count; i++) {
      const stream = this.#nextStream;
      const place = (stream >> 1) % PLACES;
      if (!Number.isNaN(this.#startedMs[place])) {
        this.#fault(`a call was overtaken by ${PLACES} others`);
        return;
      }
      this.#startedMs[place] = startedMs(i);
      this.#codes[place] = -1;
      this.#nextStream = stream + 2;
      at = frames.write(out, at, stream, this.#numbers.next());
    }
    this.#openCalls += count;
    this.#window -= count * frames.dataBytes;
    this.#socket.write(out);
  }

  #read(chunk: Buffer): void {
    const nowMs = performance.now();
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#answered = 0;
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + frameLength(bytes, at);
      if (end > bytes.length) break;
      this.#onFrame(bytes, at, end, nowMs);
      at = end;
    }
    // The chunk is in memory that the next read fills again.
    this.#rest = at === bytes.length ? null : Buffer.from(bytes.subarray(at));
    if (this.#uncredited >= CREDIT_BYTES) {
      writeWindowUpdate(this.#control, 0, this.#uncredited);
      this.#uncredited = 0;
    }
    if (this.#heldMs.length > 0) this.#sendHeld();
    if (this.#answered > 0) this.#observer.onRead(this, this.#answered, nowMs);
    this.#flushControl();
  }

  #onFrame(bytes: Buffer, at: number, end: number, nowMs: number): void {
    const type = bytes[at + 3];
    const start = at + FRAME_HEADER_BYTES;
    if (type === FRAME.data) {
      this.#uncredited += end - start;
      const place = (readUint31(bytes, at + 5) >> 1) % PLACES;
      if (this.#codes[place] === -1 && end - start > CODE_AT) {
        this.#codes[place] = bytes[start + CODE_AT - 1] === CODE_TAG ? bytes[start + CODE_AT] : 0;
      }
    } else if (type === FRAME.headers) {
      if ((bytes[at + 4] & FLAG.endStream) !== 0) this.#endCall(bytes, at, end, nowMs);
    } else this.#onControlFrame(bytes, at, end);
  }

  #endCall(bytes: Buffer, at: number, end: number, nowMs: number): void {
    const place = (readUint31(bytes, at + 5) >> 1) % PLACES;
    const code = this.#codes[place];
    if (code < 0) {
      this.#fault(`a call was answered without a message${trailersText(bytes, at, end)}`);
      return;
    }
    const startedMs = this.#startedMs[place];
    this.#startedMs[place] = Number.NaN;
    this.#openCalls--;
    this.#answered++;
    this.#observer.onAnswer(code, startedMs, nowMs);
  }

  #onControlFrame(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3];
    const start = at + FRAME_HEADER_BYTES;
    const isAck = (bytes[at + 4] & FLAG.ack) !== 0;
    if (type === FRAME.settings && !isAck) this.#onSettings(bytes, start, end);
    else if (type === FRAME.ping && !isAck) writePing(this.#control, 'ack', bytes, start);
    else if (type === FRAME.windowUpdate && readUint31(bytes, at + 5) === 0)
      this.#window += readUint31(bytes, start);
    else if (type === FRAME.rstStream)
      this.#fault(`the server reset a call with code ${readUint32(bytes, start)}`);
    else if (type === FRAME.goAway) this.#onGoAway(bytes, start, end);
  }

  /** A server that shuts down or balances its load sends NO_ERROR, possibly twice (RFC 9113, 6.8). */
  #onGoAway(bytes: Buffer, start: number, end: number): void {
    if (readUint32(bytes, start + 4) !== 0)
      this.#fault(`the server said GOAWAY${goAwayText(bytes, start, end)}`);
    else if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.#observer.onGoAway(this);
    }
  }

  #onSettings(bytes: Buffer, start: number, end: number): void {
    readSettings(bytes, { start, end }, 0, (parameter, value) => {
      if (parameter === SETTING.maxConcurrentStreams) this.#maxStreams = value;
      if (parameter === SETTING.headerTableSize && value < DEFAULT_TABLE_BYTES)
        this.#fault(
          `the server takes an HPACK table of ${value} bytes; this client uses ${DEFAULT_TABLE_BYTES}`,
        );
    });
    writeSettingsAck(this.#control);
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
