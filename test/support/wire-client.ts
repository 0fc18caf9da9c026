import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Test } from 'tap';
import { HpackDecoder } from '../../src/http2/hpack/decoder.ts';
import type { ListenAddress } from '../../src/transports/grpc/listener.ts';
import { openSocket } from './grpc-client.ts';
import {
  CLIENT_PREFACE,
  FLAGS,
  type Frame,
  FrameReader,
  grpcCall,
  pingAck,
  settings,
  settingsAck,
  TYPE,
} from './wire-frames.ts';

/** What came back on a stream. */
export interface WireAnswer {
  /** Fields of head and trailers together. */
  readonly fields: Readonly<Record<string, string>>;
  readonly content: Buffer;
  /** The code of RST_STREAM when the stream ended that way; null when it ended with END_STREAM. */
  readonly reset: number | null;
}

/** A scripted HTTP/2 client on a real socket: it says exactly what it is told to, and keeps all frames that come. */
export class WireClient {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  /** Everything that came, as bytes. */
  readonly received: Buffer[] = [];
  /** Resolves when the server has closed its end, or the whole connection. */
  readonly ended: Promise<void>;
  /** Whether pings of the server are answered. */
  answersPings = true;
  readonly #reader = new FrameReader();
  readonly #decoder = new HpackDecoder({ maxListBytes: 1_000_000, maxFields: 10_000 });
  readonly #blocks = new WeakMap<Frame, Record<string, string>>();
  #waiting: (() => void)[] = [];
  #isOver = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    this.ended = new Promise(resolve => {
      const end = (): void => {
        this.#isOver = true;
        this.#wake();
        resolve();
      };
      socket.once('end', end);
      socket.once('close', end);
    });
    socket.on('error', () => {});
    socket.on('data', chunk => this.#take(chunk));
  }

  /** Connects and says nothing. */
  static async connect(t: Test, address: ListenAddress): Promise<WireClient> {
    const client = new WireClient(openSocket(address));
    t.teardown(() => client.socket.destroy());
    await once(client.socket, 'connect');
    return client;
  }

  /** Connects, and exchanges preface and SETTINGS. */
  static async open(
    t: Test,
    address: ListenAddress,
    ...parameters: readonly (readonly [number, number])[]
  ): Promise<WireClient> {
    const client = await WireClient.connect(t, address);
    client.send(CLIENT_PREFACE, settings(...parameters));
    await client.frame(({ type, flags }) => type === TYPE.settings && (flags & FLAGS.ack) !== 0);
    client.send(settingsAck);
    await client.settled();
    return client;
  }

  /** Sends everything in one write. */
  send(...parts: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** The first frame so far or to come for which this holds; fails when the connection ends before. */
  async frame(holds: (frame: Frame) => boolean): Promise<Frame> {
    for (let seen = 0; ; ) {
      for (; seen < this.frames.length; seen++) if (holds(this.frames[seen])) return this.frames[seen];
      if (this.#isOver) throw new Error('the connection ended without the frame');
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    }
  }

  /** The error code of GOAWAY, once it has come. */
  async goAway(): Promise<number> {
    const { payload } = await this.frame(({ type }) => type === TYPE.goAway);
    return payload.readUInt32BE(4);
  }

  /** What the server says of why it goes away. */
  async goAwayText(): Promise<string> {
    const { payload } = await this.frame(({ type }) => type === TYPE.goAway);
    return payload.toString('utf8', 8);
  }

  /** The answer to a stream, once it is complete or reset. */
  async answer(stream: number): Promise<WireAnswer> {
    const last = await this.frame(
      frame =>
        frame.stream === stream &&
        (frame.type === TYPE.rstStream || (frame.flags & FLAGS.endStream) !== 0) &&
        frame.type !== TYPE.windowUpdate,
    );
    const frames = this.frames.filter(frame => frame.stream === stream);
    const fields = frames.map(frame => this.#blocks.get(frame) ?? {});
    const content = frames.filter(({ type }) => type === TYPE.data).map(({ payload }) => payload);
    const reset = last.type === TYPE.rstStream ? last.payload.readUInt32BE(0) : null;
    return { fields: Object.assign({}, ...fields), content: Buffer.concat(content), reset };
  }

  /** The gRPC status of a call that is made now. */
  async call(stream: number, path: string, message = ''): Promise<string | undefined> {
    this.send(grpcCall(stream, path, message));
    return (await this.answer(stream)).fields['grpc-status'];
  }

  /** Resolves when the server has handled all that was sent before. */
  async settled(): Promise<void> {
    const mark = Buffer.from(String(++this.#marks).padStart(8, '0'));
    this.send(Buffer.concat([Buffer.from([0, 0, 8, TYPE.ping, 0, 0, 0, 0, 0]), mark]));
    await this.frame(({ type, payload }) => type === TYPE.ping && payload.equals(mark));
  }

  #marks = 0;

  #take(chunk: Buffer): void {
    this.received.push(chunk);
    for (const frame of this.#reader.read(chunk)) {
      this.frames.push(frame);
      if (frame.type === TYPE.headers) this.#blocks.set(frame, this.#decode(frame.payload));
      const isAsked = frame.type === TYPE.ping && (frame.flags & FLAGS.ack) === 0;
      if (isAsked && this.answersPings) this.send(pingAck(frame.payload));
    }
    this.#wake();
  }

  #decode(payload: Buffer): Record<string, string> {
    const { names, values } = this.#decoder.decode(payload, 0, payload.length);
    return Object.fromEntries(names.map((name, i) => [name, values[i]]));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
