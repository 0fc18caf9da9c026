import { connect, type Socket } from 'node:net';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import { ERROR } from '../../../src/http2/faults.ts';
import {
  readSettings,
  SETTING,
  writeGoAway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../../src/http2/frame/control.ts';
import { FLAG, FRAME, readUint31, readUint32, writeFrameHeader } from '../../../src/http2/frame/frame.ts';
import { HpackDecoder } from '../../../src/http2/hpack/decoder.ts';
import { FrameReader, type ReceivedFrame } from '../../support/frame-reader.ts';
import type { Ending } from './call-kinds.ts';
import { ClientSender, type OpenCall } from './client-sender.ts';

export interface ClientConnectionEvents {
  /** The server ended a call that was not given up; status -1 when it reset the stream. */
  readonly onCallEnd: (stream: number, ending: Ending) => void;
  /** A read has been handled; what this sets off leaves in one write. */
  readonly onRead: () => void;
  /** The socket is gone. `fault` says what the server did wrong; '' when nothing. */
  readonly onGone: (fault: string) => void;
}

/** Ways to end a connection. `announced` lets the server finish the calls and close; the others lose them. */
export type Leaving = 'ended' | 'reset' | 'in a frame' | 'announced';

/** The connection's window is widened whenever this much has come. */
const CREDIT_BYTES = 32_768;
/** DATA frames from this size on widen the window of their stream. */
const LARGE_DATA_BYTES = 4_096;
/** SETTINGS_INITIAL_WINDOW_SIZE of a narrow connection: no answer fits. */
const NARROW_WINDOW = 8;

const PING_PAYLOAD = Buffer.from('soaking.');

/** Bounds of what the server may send; far more than it does. */
const DECODER_OPTIONS = { maxTableSize: 4_096, maxListBytes: 65_536, maxFields: 100 };

/**
 * The client's end of an HTTP/2 connection, on a plain socket: also does what libraries keep their users from, such
 * as sending half a message. Frames wait until `flush`.
 */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #events: ClientConnectionEvents;
  readonly #isNarrow: boolean;
  readonly #reader = new FrameReader();
  readonly #decoder = new HpackDecoder(DECODER_OPTIONS);
  readonly #calls = new Map<number, OpenCall>();
  readonly #sender = new ClientSender(this.#calls);
  #nextStream = 1;
  /** Bytes of DATA that have come since the connection's window was widened. */
  #uncredited = 0;
  #leaving = false;
  #fault = '';
  #unansweredPings = 0;

  /** @param windows `narrow` makes the server wait in the middle of every answer */
  constructor(port: number, windows: 'usual' | 'narrow', events: ClientConnectionEvents) {
    this.#events = events;
    this.#isNarrow = windows === 'narrow';
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', chunk => this.#read(chunk));
    this.#socket.on('error', error => this.#noteFault(`socket error: ${error.message}`));
    this.#socket.on('close', () => {
      this.#noteFault('the server closed the connection');
      events.onGone(this.#fault);
    });
    const { out } = this.#sender;
    out.copy(PREFACE, 0, PREFACE.length);
    writeSettings(out, this.#isNarrow ? [[SETTING.initialWindowSize, NARROW_WINDOW]] : []);
  }

  get openCalls(): number {
    return this.#calls.size;
  }

  get unansweredPings(): number {
    return this.#unansweredPings;
  }

  /** Opens a stream and gives its id. */
  headers(request: { readonly path: string; readonly timeout: string | null }): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#sender.headers(stream, request);
    this.#calls.set(stream, { contentBytes: 0, sendWindow: this.#sender.initialWindow, unsent: null });
    return stream;
  }

  /** Sends a part of a request; it has to be smaller than any window. */
  sendPart(stream: number, bytes: Uint8Array): void {
    const call = this.#calls.get(stream);
    if (call !== undefined) this.#sender.frame(stream, call, bytes, 0);
  }

  /** Sends the rest of a request; what the windows do not let through follows when they do. */
  sendLast(stream: number, bytes: Uint8Array): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    call.unsent = bytes;
    this.#sender.pump(stream, call);
  }

  /** Gives a call up. Does nothing when it has ended. */
  reset(stream: number): void {
    if (this.#calls.delete(stream)) writeRstStream(this.#sender.out, stream, ERROR.cancel);
  }

  ping(): void {
    this.#unansweredPings++;
    writePing(this.#sender.out, 'request', PING_PAYLOAD, 0);
  }

  /** Stops reading, so that answers pile up at the server. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  flush(): void {
    const { out } = this.#sender;
    if (out.length === 0 || !this.#socket.writable) return;
    this.#socket.write(out.take());
    out.reset();
  }

  /** Ends the connection. What the server does from here on is no fault. */
  leave(how: Leaving): void {
    this.#leaving = true;
    const { out } = this.#sender;
    if (how === 'reset') {
      this.#socket.resetAndDestroy();
      return;
    }
    if (how === 'in a frame') writeFrameHeader(out, 100, FRAME.headers, FLAG.endHeaders, this.#nextStream);
    if (how === 'announced') writeGoAway(out, 0, ERROR.noError, '');
    this.flush();
    this.resume();
    if (how === 'in a frame') this.#socket.destroySoon();
    if (how === 'ended') this.#socket.end();
  }

  #read(chunk: Uint8Array): void {
    this.#reader.read(chunk, frame => this.#onFrame(frame));
    this.#events.onRead();
    this.flush();
  }

  #onFrame(frame: ReceivedFrame): void {
    const { type, flags, stream, bytes, start, end } = frame;
    const isAck = (flags & FLAG.ack) !== 0;
    switch (type) {
      case FRAME.headers:
        this.#onHeaders(frame);
        break;
      case FRAME.data:
        this.#onData(stream, end - start);
        break;
      case FRAME.rstStream:
        this.#onRstStream(stream, readUint32(bytes, start));
        break;
      case FRAME.settings:
        if (!isAck) this.#onSettings(frame);
        break;
      case FRAME.ping:
        if (isAck) this.#unansweredPings--;
        else writePing(this.#sender.out, 'ack', bytes, start);
        break;
      case FRAME.windowUpdate:
        this.#sender.widen(stream, readUint31(bytes, start));
        break;
      case FRAME.goAway:
        this.#noteFault(goAwayText(frame));
        break;
    }
  }

  #onHeaders({ flags, stream, bytes, start, end }: ReceivedFrame): void {
    const { names, values } = this.#decoder.decode(bytes, start, end);
    if ((flags & FLAG.endStream) === 0) return;
    this.#endCall(stream, Number(values[names.indexOf('grpc-status')]));
  }

  #onData(stream: number, size: number): void {
    const { out } = this.#sender;
    this.#uncredited += size;
    if (this.#uncredited >= CREDIT_BYTES) {
      writeWindowUpdate(out, 0, this.#uncredited);
      this.#uncredited = 0;
    }
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    call.contentBytes += size;
    if (size >= LARGE_DATA_BYTES) writeWindowUpdate(out, stream, size);
    // Growing, so that a large answer does not take thousands of frames.
    else if (this.#isNarrow) writeWindowUpdate(out, stream, size * 8);
  }

  #onRstStream(stream: number, code: number): void {
    // After a whole answer the server resets with NO_ERROR what it has not read to the end (RFC 9113, 8.1); then the
    // call is not open here any more.
    if (this.#calls.has(stream)) this.#endCall(stream, -1);
    else if (code !== ERROR.noError) this.#noteFault(`RST_STREAM with ${code} on a stream that has ended`);
  }

  #endCall(stream: number, status: number): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    this.#calls.delete(stream);
    this.#events.onCallEnd(stream, { status, contentBytes: call.contentBytes });
  }

  #onSettings({ flags, bytes, start, end }: ReceivedFrame): void {
    readSettings(bytes, { start, end }, flags, (parameter, value) => {
      if (parameter === SETTING.initialWindowSize) this.#sender.initialWindow = value;
      return null;
    });
    writeSettingsAck(this.#sender.out);
  }

  #noteFault(text: string): void {
    if (!this.#leaving && this.#fault === '') this.#fault = text;
  }
}

function goAwayText({ bytes, start, end }: ReceivedFrame): string {
  const reason = Buffer.from(bytes.subarray(start + 8, end)).toString('latin1');
  return `the server said GOAWAY with ${readUint32(bytes, start + 4)}: ${reason}`;
}
