import { ByteWriter } from '../../../src/base/bytes.ts';
import { DEFAULT_MAX_FRAME_BYTES, FLAG, FRAME, writeFrameHeader } from '../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../src/http2/frame/headers.ts';
import type { HeaderField } from '../../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../../test/support/hpack-encoder.ts';
import { framed } from '../grpc-framing.ts';

/** A request whose text changes from call to call. */
export interface RequestTemplate {
  /** Path of the method. */
  readonly path: string;
  /** The message in base64. */
  readonly message: string;
  /** Places in the message where six digits stand: those of the number of the call modulo `below`. */
  readonly counted: readonly { readonly at: number; readonly below: number }[];
  /** Number of calls in a row that have the same number; 1 without it. */
  readonly callsPerNumber?: number;
}

/** Digits of a number in a request. */
export const COUNTED_DIGITS = 6;

const MESSAGE_PREFIX_BYTES = 5;
/** The stream stands here in the header of a frame (RFC 9113, 4.1). */
const STREAM_AT = 5;
/** Size of the HPACK table of the encoder. */
export const HEADER_TABLE_BYTES = 4_096;

/** The digits of 0 to 999, three each. */
const TRIPLES = Uint8Array.from(
  Array.from({ length: 1_000 }, (_, i) => [...Buffer.from(String(i).padStart(3, '0'))]).flat(),
);

/** The frames of one call, HEADERS and DATA, as they leave: only the stream and the digits are left to fill in. */
class CallFrames {
  readonly bytes: Uint8Array;
  readonly #dataAt: number;
  readonly #messageAt: number;
  readonly #counted: RequestTemplate['counted'];

  constructor(block: Uint8Array, message: Uint8Array, counted: RequestTemplate['counted']) {
    const out = new ByteWriter();
    writeHeaders(out, 0, block, { endStream: false, maxFrameBytes: DEFAULT_MAX_FRAME_BYTES });
    this.#dataAt = out.length;
    const body = framed(message);
    writeFrameHeader(out, body.length, FRAME.data, FLAG.endStream, 0);
    this.#messageAt = out.length + MESSAGE_PREFIX_BYTES;
    out.copy(body, 0, body.length);
    this.bytes = out.take();
    this.#counted = counted;
  }

  write(to: Uint8Array, at: number, stream: number, number: number): number {
    to.set(this.bytes, at);
    writeStream(to, at + STREAM_AT, stream);
    writeStream(to, at + this.#dataAt + STREAM_AT, stream);
    for (let i = 0; i < this.#counted.length; i++) {
      const { at: offset, below } = this.#counted[i];
      writeDigits(to, at + this.#messageAt + offset, number % below);
    }
    return at + this.bytes.length;
  }
}

/**
 * The calls of one request, made beforehand: a generator copies them and fills in two streams and some digits. As with
 * real clients, the first call of a connection puts its header fields into the HPACK table and the others refer to it.
 */
export class RequestFrames {
  /** Bytes of DATA of a call: what flow control counts. */
  readonly dataBytes: number;
  readonly #first: CallFrames;
  readonly #next: CallFrames;

  constructor({ path, message, counted }: RequestTemplate) {
    const bytes = Buffer.from(message, 'base64');
    this.dataBytes = MESSAGE_PREFIX_BYTES + bytes.length;
    const encoder = new HpackEncoder({ maxTableSize: HEADER_TABLE_BYTES });
    this.#first = new CallFrames(headerBlock(encoder, path), bytes, counted);
    this.#next = new CallFrames(headerBlock(encoder, path), bytes, counted);
  }

  /** Bytes of all frames of a call on this stream. */
  sizeOn(stream: number): number {
    return (stream === 1 ? this.#first : this.#next).bytes.length;
  }

  /** Writes the frames of call `number` to `to`, and gives the place behind them. */
  write(to: Uint8Array, at: number, stream: number, number: number): number {
    return (stream === 1 ? this.#first : this.#next).write(to, at, stream, number);
  }
}

/** The header fields of a call. */
export function headerBlock(encoder: HpackEncoder, path: string): Uint8Array {
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', '127.0.0.1'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['user-agent', 'bench'],
  ];
  const block = new ByteWriter();
  encoder.startBlock(block);
  for (const [name, value] of fields) encoder.field(block, name, value, 'index');
  return block.take();
}

function writeStream(to: Uint8Array, at: number, stream: number): void {
  to[at] = stream >>> 24;
  to[at + 1] = stream >>> 16;
  to[at + 2] = stream >>> 8;
  to[at + 3] = stream;
}

function writeDigits(to: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / 1_000) * 3;
  const low = (value % 1_000) * 3;
  to[at] = TRIPLES[high];
  to[at + 1] = TRIPLES[high + 1];
  to[at + 2] = TRIPLES[high + 2];
  to[at + 3] = TRIPLES[low];
  to[at + 4] = TRIPLES[low + 1];
  to[at + 5] = TRIPLES[low + 2];
}
