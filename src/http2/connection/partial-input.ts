import { ByteWriter } from '../../base/bytes.ts';
import { type Http2Fault, SLOW } from '../faults.ts';
import { FRAME, FRAME_HEADER_BYTES, frameLength } from '../frame/frame.ts';
import type { ConnectionLimits } from './limits.ts';

/** What a client says first (RFC 9113, 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Reads the preface, in however many pieces it comes. */
export class PrefaceReader {
  #read = 0;
  /** Whether the peer has said something else. */
  isBroken = false;

  /** Takes what belongs to the preface; returns where the frames begin. */
  take(chunk: Uint8Array): number {
    const length = Math.min(chunk.length, PREFACE.length - this.#read);
    for (let i = 0; i < length; i++) if (chunk[i] !== PREFACE[this.#read++]) this.isBroken = true;
    return length;
  }
}

/**
 * The beginning of a frame whose end has not come yet. Only such frames are copied, and of them only what is theirs:
 * what follows in the same read is handled where it stands.
 */
export class PartialFrame {
  readonly #bytes = new ByteWriter(0);
  #sinceMs = 0;

  get bytes(): Uint8Array {
    return this.#bytes.bytes;
  }

  /** How many of `bytes` are the frame's. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#bytes.bytes.length;
  }

  /** Says that the peer is too long about it; null while it is not. A DATA frame may take long on a slow line. */
  late(nowMs: number, { headersMs, stallMs }: ConnectionLimits): Http2Fault | null {
    if (this.length === 0) return null;
    const isData = this.length > 3 && this.bytes[3] === FRAME.data;
    return nowMs - this.#sinceMs > (isData ? stallMs : headersMs) ? SLOW : null;
  }

  /** Takes `chunk[at...]`, which lacks the end of the frame. */
  begin(chunk: Uint8Array, at: number, nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#bytes.copy(chunk, at, chunk.length);
  }

  /** Takes what the frame lacks from `chunk[at...]`; returns where the rest of the chunk begins. */
  fill(chunk: Uint8Array, at: number): number {
    const behindHeader = this.#fillTo(FRAME_HEADER_BYTES, chunk, at);
    if (this.length < FRAME_HEADER_BYTES) return behindHeader;
    return this.#fillTo(FRAME_HEADER_BYTES + frameLength(this.bytes, 0), chunk, behindHeader);
  }

  /** Begins anew, without the memory: a frame may be long, and idle connections are many. */
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
