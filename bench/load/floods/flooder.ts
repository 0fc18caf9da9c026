import { connect, type Socket } from 'node:net';
import {
  CLIENT_PREFACE,
  FLAGS,
  FrameReader,
  PARAMETER,
  settings,
  settingsAck,
  TYPE,
  windowUpdate,
} from '../../../test/support/wire-frames.ts';
import type { FloodKind } from './kinds.ts';

const LARGEST_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;

/** Bytes written to the socket at a time, and the maximum that may wait in it. */
const PIECE_BYTES = 65_536;
const MOST_WAITING = 262_144;

/** Number of streams after which a connection is replaced, because stream ids end at 2^31. */
const MOST_STREAMS = 500_000_000;

/**
 * One connection that sends as much of one kind of flood as the server accepts. It respects the windows of the server
 * and the number of open streams, so that the server can object only to the flood itself, and reconnects whenever it is
 * closed.
 */
export class Flooder {
  readonly #port: number;
  readonly #kind: FloodKind;
  readonly #number: number;
  #socket: Socket | null = null;
  #reader = new FrameReader();
  #stream = 1;
  #open = 0;
  #window = DEFAULT_WINDOW;
  #repeated = 0;
  #ends = false;
  /** How many times the server closed the connection. */
  ended = 0;
  answered = 0;

  constructor(port: number, kind: FloodKind, number: number) {
    this.#port = port;
    this.#kind = kind;
    this.#number = number;
    this.#connect();
  }

  stop(): void {
    this.#ends = true;
    this.#socket?.destroy();
  }

  #connect(): void {
    if (this.#ends) return;
    const { before, window } = this.#kind;
    this.#reader = new FrameReader();
    this.#stream = 1;
    this.#open = 0;
    this.#window = DEFAULT_WINDOW;
    this.#repeated = 0;
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    socket.write(
      Buffer.concat([
        CLIENT_PREFACE,
        settings([PARAMETER.initialWindowSize, window ?? LARGEST_WINDOW]),
        window === undefined ? windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW) : Buffer.alloc(0),
        settingsAck,
        before ?? Buffer.alloc(0),
      ]),
    );
    socket.on('data', chunk => this.#read(chunk));
    socket.on('drain', () => this.#fill());
    socket.on('error', () => {});
    socket.once('connect', () => this.#fill());
    socket.once('close', () => {
      this.ended++;
      setTimeout(() => this.#connect(), 1);
    });
  }

  #fill(): void {
    const socket = this.#socket as Socket;
    while (socket.writable && socket.writableLength < MOST_WAITING && this.#mayRepeat()) {
      const pieces: Buffer[] = [];
      for (
        let bytes = 0;
        bytes < PIECE_BYTES && this.#mayRepeat();
        bytes += pieces[pieces.length - 1].length
      ) {
        pieces.push(this.#next());
      }
      socket.write(Buffer.concat(pieces));
      if (this.#repeated === this.#kind.reconnectAfter) socket.end();
    }
  }

  #mayRepeat(): boolean {
    const { openStreams, reconnectAfter } = this.#kind;
    if (this.#repeated === reconnectAfter || this.#stream > MOST_STREAMS) return false;
    return this.#window > 0 && (openStreams === 0 || this.#open < openStreams);
  }

  #next(): Buffer {
    const bytes = this.#kind.each(this.#stream, this.#number);
    this.#stream += 2;
    this.#repeated++;
    if (this.#kind.openStreams > 0) this.#open++;
    this.#window -= dataBytes(bytes);
    return bytes;
  }

  #read(chunk: Buffer): void {
    for (const { type, flags, stream, payload } of this.#reader.read(chunk)) {
      if (type === TYPE.windowUpdate && stream === 0) this.#window += payload.readUInt32BE(0);
      const ends = (type === TYPE.headers || type === TYPE.data) && (flags & FLAGS.endStream) !== 0;
      if (!ends) continue;
      this.answered++;
      this.#open--;
    }
    this.#fill();
  }
}

/** Number of bytes that flow control counts for these frames. */
function dataBytes(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUIntBE(at, 3);
    if (bytes[at + 3] === TYPE.data) sum += size;
    at += 9 + size;
  }
  return sum;
}
