import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import type { HpackDecoder } from '../../../../src/http2/hpack/decoder.ts';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { HpackEncoder, type Indexing } from '../../../support/hpack-encoder.ts';
import { decodeAll, decoderWith, fieldsOf } from './blocks.ts';

const FRAME = { data: 0, headers: 1, settings: 4, ping: 6, continuation: 9 } as const;
const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;
const HEADER_TABLE_SIZE = 1;
const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;

/** A field of a response, and how it is to be sent. */
export interface ResponseField {
  readonly field: HeaderField;
  readonly indexing: Indexing;
}

export interface RawServerOptions {
  /** The response to the request that came as number `i`, which had these fields. */
  readonly respond: (fields: readonly HeaderField[], i: number) => readonly ResponseField[];
  /** The SETTINGS_HEADER_TABLE_SIZE to announce before request `i` is answered, 4096 at most; undefined for none. */
  readonly tableSizeAt?: (i: number) => number | undefined;
}

/** An HTTP/2 server that is nothing but our HPACK and as few frames as a client puts up with. */
export interface RawServer {
  readonly url: string;
  readonly port: number;
  /** The fields of all requests, in the order in which they came. */
  readonly requests: readonly (readonly HeaderField[])[];
  /** The first thing that went wrong, if anything did. */
  readonly failure: () => unknown;
}

/** Starts the server on a free port of this machine; it ends with the test. */
export async function startRawServer(t: Test, options: RawServerOptions): Promise<RawServer> {
  const requests: (readonly HeaderField[])[] = [];
  const sockets = new Set<Socket>();
  let failure: unknown;
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket);
    const connection = new RawConnection(socket, options, requests);
    socket.on('error', () => {});
    socket.on('data', bytes => {
      try {
        connection.receive(bytes);
      } catch (thrown) {
        failure ??= thrown;
        socket.destroy();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests, failure: () => failure };
}

class RawConnection {
  readonly #socket: Socket;
  readonly #options: RawServerOptions;
  readonly #requests: (readonly HeaderField[])[];
  readonly #decoder: HpackDecoder = decoderWith();
  readonly #encoder = new HpackEncoder({ maxTableSize: 4096 });
  #pending: Buffer = Buffer.alloc(0);
  #isGreeted = false;
  #fragments: Buffer[] = [];

  constructor(socket: Socket, options: RawServerOptions, requests: (readonly HeaderField[])[]) {
    this.#socket = socket;
    this.#options = options;
    this.#requests = requests;
    this.#announce(undefined);
  }

  receive(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    if (!this.#isGreeted) {
      if (this.#pending.length < PREFACE_BYTES) return;
      this.#pending = this.#pending.subarray(PREFACE_BYTES);
      this.#isGreeted = true;
    }
    while (this.#pending.length >= FRAME_HEADER_BYTES) {
      const length = this.#pending.readUIntBE(0, 3);
      if (this.#pending.length < FRAME_HEADER_BYTES + length) return;
      const frame = this.#pending.subarray(0, FRAME_HEADER_BYTES + length);
      this.#pending = this.#pending.subarray(frame.length);
      this.#onFrame(frame[3], frame[4], frame.readUInt32BE(5), frame.subarray(FRAME_HEADER_BYTES));
    }
  }

  #onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FRAME.settings) this.#onSettings(flags, payload);
    if (type === FRAME.ping && (flags & FLAG.ack) === 0) this.#send(FRAME.ping, FLAG.ack, 0, payload);
    if (type === FRAME.headers || type === FRAME.continuation) {
      this.#fragments.push(type === FRAME.headers ? withoutPadding(flags, payload) : payload);
      if ((flags & FLAG.endHeaders) !== 0) {
        this.#requests.push(fieldsOf(decodeAll(this.#decoder, Buffer.concat(this.#fragments))));
        this.#fragments = [];
      }
    }
    const mayEnd = type === FRAME.headers || type === FRAME.data;
    if (mayEnd && (flags & FLAG.endStream) !== 0) this.#respond(stream);
  }

  /** Applies the client's settings to the encoder. */
  #onSettings(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ack) !== 0) return;
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) === HEADER_TABLE_SIZE)
        this.#encoder.setPeerTableSize(payload.readUInt32BE(at + 2));
    }
    this.#send(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
  }

  #respond(stream: number): void {
    const i = this.#requests.length - 1;
    const size = this.#options.tableSizeAt?.(i);
    if (size !== undefined) this.#announce(size);
    const to = new ByteWriter();
    this.#encoder.startBlock(to);
    for (const { field, indexing } of this.#options.respond(this.#requests[i], i))
      this.#encoder.field(to, field[0], field[1], indexing);
    this.#send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, to.view());
  }

  #announce(tableSize: number | undefined): void {
    const setting = Buffer.alloc(tableSize === undefined ? 0 : 6);
    if (tableSize !== undefined) {
      setting.writeUInt16BE(HEADER_TABLE_SIZE, 0);
      setting.writeUInt32BE(tableSize, 2);
    }
    this.#send(FRAME.settings, 0, 0, setting);
  }

  #send(type: number, flags: number, stream: number, payload: Uint8Array): void {
    const head = Buffer.alloc(FRAME_HEADER_BYTES);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    this.#socket.write(Buffer.concat([head, payload]));
  }
}

/** The fragment in the payload of a HEADERS frame (RFC 9113, 6.2). */
function withoutPadding(flags: number, payload: Buffer): Buffer {
  const isPadded = (flags & FLAG.padded) !== 0;
  const start = (isPadded ? 1 : 0) + ((flags & FLAG.priority) !== 0 ? 5 : 0);
  return payload.subarray(start, payload.length - (isPadded ? payload[0] : 0));
}
