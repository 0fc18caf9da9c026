import { ByteWriter } from '../../../src/base/bytes.ts';
import { DEFAULT_MAX_FRAME_BYTES, FLAG, FRAME, writeFrameHeader } from '../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../src/http2/frame/headers.ts';
import type { HeaderField } from '../../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../../test/support/hpack-encoder.ts';

/** A call that has neither ended nor been given up. */
export interface OpenCall {
  contentBytes: number;
  sendWindow: number;
  /** What has not been sent yet, because a window was too small; null when nothing. */
  unsent: Uint8Array | null;
}

/** Window of a connection, and of its streams until SETTINGS say otherwise (RFC 9113, 6.9.2). */
const DEFAULT_WINDOW = 65_535;

/** What all requests have in common; the path stands between, as pseudo-header fields come first. */
const PSEUDO_FIELDS: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'soak'],
];
const FIELDS: readonly HeaderField[] = [
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

/** The sending half of a client's connection: requests become frames in `out`, within the server's windows. */
export class ClientSender {
  readonly out = new ByteWriter(16_384);
  /** SETTINGS_INITIAL_WINDOW_SIZE of the server. */
  initialWindow = DEFAULT_WINDOW;
  readonly #encoder = new HpackEncoder({ maxTableSize: 4_096 });
  readonly #block = new ByteWriter();
  readonly #calls: ReadonlyMap<number, OpenCall>;
  #window = DEFAULT_WINDOW;

  /** @param calls those that are open, by stream */
  constructor(calls: ReadonlyMap<number, OpenCall>) {
    this.#calls = calls;
  }

  /** Most fields become entries of the dynamic table, as with grpc-go; deadlines change too often for that. */
  headers(stream: number, request: { readonly path: string; readonly timeout: string | null }): void {
    const block = this.#block;
    block.reset();
    this.#encoder.startBlock(block);
    for (const [name, value] of PSEUDO_FIELDS) this.#encoder.field(block, name, value, 'index');
    this.#encoder.field(block, ':path', request.path, 'index');
    for (const [name, value] of FIELDS) this.#encoder.field(block, name, value, 'index');
    if (request.timeout !== null) this.#encoder.field(block, 'grpc-timeout', request.timeout, 'plain');
    writeHeaders(this.out, stream, block.view(), {
      endStream: false,
      maxFrameBytes: DEFAULT_MAX_FRAME_BYTES,
    });
  }

  /** Sends data in one frame, whatever the windows: for parts that are smaller than any window. */
  frame(stream: number, call: OpenCall, bytes: Uint8Array, flags: number): void {
    call.sendWindow -= bytes.length;
    this.#window -= bytes.length;
    writeFrameHeader(this.out, bytes.length, FRAME.data, flags, stream);
    this.out.copy(bytes, 0, bytes.length);
  }

  /** Sends what the windows let through of what a call has left, and END_STREAM with the last of it. */
  pump(stream: number, call: OpenCall): void {
    while (call.unsent !== null) {
      const room = Math.min(call.sendWindow, this.#window, DEFAULT_MAX_FRAME_BYTES);
      const count = Math.min(call.unsent.length, room);
      if (count <= 0) return;
      const part = call.unsent.subarray(0, count);
      call.unsent = count === call.unsent.length ? null : call.unsent.subarray(count);
      this.frame(stream, call, part, call.unsent === null ? FLAG.endStream : 0);
    }
  }

  /** The server has widened a window; stream 0 is the connection. */
  widen(stream: number, increment: number): void {
    if (stream === 0) {
      this.#window += increment;
      for (const [waiting, call] of this.#calls) this.pump(waiting, call);
      return;
    }
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    call.sendWindow += increment;
    this.pump(stream, call);
  }
}
