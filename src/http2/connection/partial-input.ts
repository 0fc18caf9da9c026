import { ByteWriter } from '../../base/bytes.ts';
import { type Http2Fault, SLOW } from '../faults.ts';
import { FRAME, FRAME_HEADER_BYTES, frameLength } from '../frame/frame.ts';
import type { ConnectionLimits } from './limits.ts';

/** The client connection preface (RFC 9113, 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Checks the preface, which may arrive in several pieces. */
export class PrefaceReader {
  #read = 0;
  /** Whether the peer has sent anything else. */
  isBroken = false;

  /** Reads the part of the chunk that belongs to the preface. Returns where the frames begin. */
  take(chunk: Uint8Array): number {
    const length = Math.min(chunk.length, PREFACE.length - this.#read);
    for (let i = 0; i < length; i++) if (chunk[i] !== PREFACE[this.#read++]) this.isBroken = true;
    return length;
  }
}

/**
 * The beginning of a frame whose end has not arrived yet. Only such frames are copied. Later frames of the same read
 * are handled in place.
 */
export class PartialFrame {
  readonly #bytes = new ByteWriter(0);
  #sinceMs = 0;

  get bytes(): Uint8Array {
    return this.#bytes.bytes;
  }

  /** Number of bytes of the frame in `bytes`. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Bytes of memory in use. */
  get capacity(): number {
    return this.#bytes.bytes.length;
  }

  /** The fault if the frame takes too long; otherwise null. DATA frames have more time, because they can be long. */
  late(nowMs: number, { headersMs, stallMs }: ConnectionLimits): Http2Fault | null {
    if (this.length === 0) return null;
    const isData = this.length > 3 && this.bytes[3] === FRAME.data;
    return nowMs - this.#sinceMs > (isData ? stallMs : headersMs) ? SLOW : null;
  }

  /** Copies `chunk[at...]`, the beginning of a frame. */
  begin(chunk: Uint8Array, at: number, nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#bytes.copy(chunk, at, chunk.length);
  }

  /** Copies the rest of the frame from `chunk[at...]`. Returns where the next frame begins in the chunk. */
  fill(chunk: Uint8Array, at: number): number {
    const behindHeader = this.#fillTo(FRAME_HEADER_BYTES, chunk, at);
    if (this.length < FRAME_HEADER_BYTES) return behindHeader;
    return this.#fillTo(FRAME_HEADER_BYTES + frameLength(this.bytes, 0), chunk, behindHeader);
  }

  /** Drops the frame and its memory, because frames can be long and idle connections are many. */
  clear(): void {
    this.#bytes.bytes = new Uint8Array(0);
    this.#bytes.reset();
  }

  #fillTo(length: number, chunk: Uint8Array, at: number): number {
    const end = Math.min(at + Math.max(length - this.length, 0), chunk.length);
    this.#bytes.copy(chunk, at, end);
    return end;
  }
}
