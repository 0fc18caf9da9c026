import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { INCREMENT } from '../../../src/counters/redis/protocol/scripts.ts';
import { ANSWER_HEAD, OK_TRAILERS } from '../../../src/grpc/blocks.ts';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import {
  LARGEST_WINDOW,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../../src/http2/frame/control.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  FRAME,
  FRAME_HEADER_BYTES,
  frameLength,
  readUint31,
  writeFrameHeader,
} from '../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../src/http2/frame/headers.ts';
import { answerBench } from '../../support/control-channel.ts';
import { framed } from '../../support/grpc-framing.ts';

/*
 * The least that Node.js does for a decision in Redis: what is read from a caller sets off one script call of the usual
 * size, whatever the calls ask for, and its reply sets off an answer of the usual size to each. No header fields, rules,
 * keys, statistics or bounds. What the service takes above this is its own; the rest is the system's and the runtime's.
 */

export interface RelayReady {
  readonly pid: number;
  readonly port: number;
}

const CONNECTIONS = 4;
const MESSAGE = framed(
  Buffer.from('0801121e0801120708e8071003180320e70728808f5c4a0b08fa98faca0610c0843d', 'hex'),
);

function command(script: Uint8Array): Buffer {
  const args = ['1', 'bench_keys_123456_1700000000', '1', '86400'];
  const words = args.map(word => `$${word.length}\r\n${word}\r\n`).join('');
  return Buffer.concat([Buffer.from('*6\r\n'), script, Buffer.from(words)]);
}

/** A connection to Redis, with the calls that wait for its reply. */
interface Link {
  readonly socket: Socket;
  replied: () => void;
}

class Relay {
  readonly #free: Link[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #command = command(INCREMENT.byDigest);

  /** Connects, and loads the script into Redis. */
  async connect(port: number): Promise<void> {
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      const link: Link = { socket, replied: () => {} };
      socket.on('data', () => this.#replied(link));
      const known = new Promise<void>(resolve => {
        link.replied = resolve;
      });
      socket.write(command(INCREMENT.byText));
      await known;
    }
  }

  ask(replied: () => void): void {
    const link = this.#free.pop();
    if (link === undefined) this.#waiting.push(replied);
    else this.#send(link, replied);
  }

  #send(link: Link, replied: () => void): void {
    link.replied = replied;
    link.socket.write(this.#command);
  }

  #replied(link: Link): void {
    link.replied();
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(link);
    else this.#send(link, next);
  }
}

/** Answers every call of a connection. */
function serve(socket: Socket, relay: Relay): void {
  const out = new ByteWriter();
  let isOpen = false;
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', chunk => {
    const at = isOpen ? 0 : PREFACE.length;
    if (!isOpen) {
      isOpen = true;
      writeSettings(out, []);
      writeSettingsAck(out);
      writeWindowUpdate(out, 0, LARGEST_WINDOW - 65_535);
      socket.write(out.take());
    }
    const streams = streamsIn(chunk, at);
    if (streams.length > 0) relay.ask(() => answer(socket, out, streams));
  });
}

/** Streams with a complete call. The generator writes whole calls, which arrive in one piece. */
function streamsIn(chunk: Uint8Array, from: number): number[] {
  const streams: number[] = [];
  for (
    let at = from;
    at + FRAME_HEADER_BYTES <= chunk.length;
    at += FRAME_HEADER_BYTES + frameLength(chunk, at)
  ) {
    if (chunk[at + 3] === FRAME.data) streams.push(readUint31(chunk, at + 5));
  }
  return streams;
}

function answer(socket: Socket, out: ByteWriter, streams: readonly number[]): void {
  out.reset();
  for (const stream of streams) {
    writeHeaders(out, stream, ANSWER_HEAD, { endStream: false, maxFrameBytes: DEFAULT_MAX_FRAME_BYTES });
    writeFrameHeader(out, MESSAGE.length, FRAME.data, 0, stream);
    out.copy(MESSAGE, 0, MESSAGE.length);
    writeHeaders(out, stream, OK_TRAILERS, { endStream: true, maxFrameBytes: DEFAULT_MAX_FRAME_BYTES });
  }
  socket.write(out.take());
}

const relay = new Relay();
await relay.connect(Number(process.argv[2]));
const server = createServer(socket => serve(socket, relay));
server.listen(0, '127.0.0.1', () => {
  const ready: RelayReady = { pid: process.pid, port: (server.address() as AddressInfo).port };
  answerBench(ready, {});
});
