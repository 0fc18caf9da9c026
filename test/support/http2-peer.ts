import type { StreamHandler } from '../../src/http2/connection/context.ts';
import { Http2Connection } from '../../src/http2/connection/http2-connection.ts';
import { type ConnectionLimits, DEFAULT_LIMITS } from '../../src/http2/connection/limits.ts';
import type { RequestHead } from '../../src/http2/connection/request-head.ts';
import { preencode } from '../../src/http2/hpack/encoder.ts';
import type { Http2Stream } from '../../src/http2/streams/stream.ts';
import { CODES, END_HEADERS } from './http2-frames.ts';
import { inWords, type ServerFrame, ServerFrames } from './http2-parse.ts';
import { SeededRandom } from './seeded-random.ts';
import { CLIENT_PREFACE, type Fields, fieldBlock, headers, settings, settingsAck } from './wire-frames.ts';

/** A layer above that writes down what it is told, one line each, and answers nothing by itself. */
export class RecordingHandler implements StreamHandler {
  readonly streams = new Map<number, Http2Stream>();
  readonly heads: RequestHead[] = [];
  #events: string[] = [];
  /** What to do beside writing it down. */
  onRequest: (stream: Http2Stream) => void = () => {};
  onData: (stream: Http2Stream, endStream: boolean) => void = () => {};

  request(stream: Http2Stream, head: RequestHead, endStream: boolean): void {
    this.streams.set(stream.id, stream);
    this.heads.push(head);
    this.#events.push(`request ${stream.id} ${head.path}${endStream ? ' end' : ''}`);
    this.onRequest(stream);
  }

  data(stream: Http2Stream, bytes: Uint8Array, start: number, end: number, endStream: boolean): void {
    if (start > end || end > bytes.length)
      throw new RangeError(`${start} to ${end} of ${bytes.length} octets`);
    const content = Buffer.from(bytes.subarray(start, end)).toString('latin1');
    this.#events.push(`data ${stream.id} ${JSON.stringify(content)}${endStream ? ' end' : ''}`);
    this.onData(stream, endStream);
  }

  aborted(stream: Http2Stream, code: number): void {
    this.#events.push(`aborted ${stream.id} ${CODES[code] ?? code}`);
  }

  /** What it was told since it was last asked. */
  take(): string[] {
    return this.#events.splice(0);
  }
}

/** Cuts what a client writes into what arrives together. */
export type Chunking = (bytes: Buffer) => Buffer[];

export const atOnce: Chunking = bytes => [bytes];

export const byteByByte: Chunking = bytes => Array.from(bytes, byte => Buffer.of(byte));

/** Pieces of 1 to 40 bytes, the same ones for the same seed. */
export function randomSplits(seed: number): Chunking {
  const random = new SeededRandom(seed);
  return bytes => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + random.below(40);
      chunks.push(bytes.subarray(at, end));
      at = end;
    }
    return chunks;
  };
}

export interface PeerOptions {
  readonly limits?: Partial<ConnectionLimits>;
  readonly chunking?: Chunking;
  /** SETTINGS of the client, by number. */
  readonly settings?: readonly (readonly [number, number])[];
}

/** The least that a request says. */
export const REQUEST: Fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/s/m'],
  [':authority', 'test'],
];

/** REQUEST, with other fields behind it. */
export function requestBlock(...more: Fields): Buffer {
  return fieldBlock([...REQUEST, ...more]);
}

/** The head and the end of an answer. */
export const HEAD_BLOCK = preencode([[':status', '200']]);
export const TRAILERS_BLOCK = preencode([['grpc-status', '0']]);

/** A scripted client on one end, a connection and what stands above it on the other; no sockets, no clock between. */
export class Http2Peer {
  readonly handler = new RecordingHandler();
  readonly connection: Http2Connection;
  readonly #chunking: Chunking;
  readonly #parser = new ServerFrames();
  nowMs = 1_000_000;

  constructor({ limits, chunking }: PeerOptions = {}) {
    this.connection = new Http2Connection({ ...DEFAULT_LIMITS, ...limits }, this.handler, this.nowMs);
    this.#chunking = chunking ?? atOnce;
  }

  /** A client that has said its preface and whose handshake is done. */
  static open(options: PeerOptions = {}): Http2Peer {
    const peer = new Http2Peer(options);
    peer.send(CLIENT_PREFACE, settings(...(options.settings ?? [])), settingsAck);
    return peer;
  }

  /** Sends bytes; returns in words what the server has written since the last time. */
  send(...frames: readonly Uint8Array[]): string[] {
    return this.sendFrames(...frames).map(inWords);
  }

  /** The same, with the frames as they are. */
  sendFrames(...frames: readonly Uint8Array[]): ServerFrame[] {
    for (const chunk of this.#chunking(Buffer.concat(frames))) this.connection.receive(chunk, this.nowMs);
    return this.takeFrames();
  }

  /** Sends the head of a request. */
  request(stream: number, flags: number = END_HEADERS): string[] {
    return this.send(headers(stream, requestBlock(), flags));
  }

  /** Lets time pass, and has the server look at it. */
  tick(byMs: number): string[] {
    this.nowMs += byMs;
    this.connection.tick(this.nowMs);
    return this.take();
  }

  /** In words, what the server has written since the last time. */
  take(): string[] {
    return this.takeFrames().map(inWords);
  }

  takeFrames(): ServerFrame[] {
    const { output } = this.connection;
    const frames = this.#parser.push(output.view());
    output.reset();
    return frames;
  }

  /** The server's field blocks, as octets. */
  get blocks(): readonly Buffer[] {
    return this.#parser.blocks;
  }

  /** The stream as the layer above has it; it must have been told of it. */
  stream(id: number): Http2Stream {
    const stream = this.handler.streams.get(id);
    if (stream === undefined) throw new Error(`the handler was not told of stream ${id}`);
    return stream;
  }

  /** Has the layer above answer with a head and content, and unless there is more to come, trailers. */
  answer(id: number, content: string, rest: 'end' | 'more' = 'end'): string[] {
    this.connection.sendHead(this.stream(id), HEAD_BLOCK);
    this.data(id, content);
    if (rest === 'end') this.connection.end(this.stream(id), TRAILERS_BLOCK);
    return this.take();
  }

  /** Has the layer above send content. */
  data(id: number, content: string): void {
    this.connection.sendData(this.stream(id), Buffer.from(content, 'latin1'));
  }

  /** Has the layer above end its answer. */
  end(id: number): string[] {
    this.connection.end(this.stream(id), TRAILERS_BLOCK);
    return this.take();
  }
}
