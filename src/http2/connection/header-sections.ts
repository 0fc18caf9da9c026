import { ByteWriter } from '../../base/bytes.ts';
import {
  connectionFault,
  ERROR,
  EVEN_STREAM,
  type Http2Fault,
  ON_STREAM_ZERO,
  SLOW,
  STRAY_CONTINUATION,
} from '../faults.ts';
import { DEFAULT_MAX_FRAME_BYTES, FLAG, type Range } from '../frame/frame.ts';
import { readHeaders } from '../frame/headers.ts';
import { HpackDecoder } from '../hpack/decoder.ts';
import type { HeaderBlock } from '../hpack/header-list.ts';
import { HpackFault } from '../hpack/primitives.ts';
import type { ConnectionContext } from './context.ts';
import type { Requests } from './requests.ts';

/** CONTINUATION frames in a row that any peer may send. A flood of empty ones would never fill the bytes. */
const LEAST_CONTINUATIONS = 32;

/** Octets of a compressed field block that any peer may send. */
const LEAST_BLOCK_BYTES = 65_536;

/**
 * The largest compressed field block that is read, for a header list of at most `maxListBytes`. A list that is
 * somewhat too large is answered 431; to read a much larger one to its end, only to refuse it, is not worth the cost.
 */
export function maxBlockBytes(maxListBytes: number): number {
  return Math.max(2 * maxListBytes, LEAST_BLOCK_BYTES);
}

/** How many CONTINUATION frames one field block may have: twice as many as full frames would be. */
export function maxContinuations(maxListBytes: number): number {
  const full = Math.ceil(maxBlockBytes(maxListBytes) / DEFAULT_MAX_FRAME_BYTES);
  return Math.max(2 * full, LEAST_CONTINUATIONS);
}

/** The fragments of a field block that comes in several frames, put together within bounds (RFC 9113, 6.10). */
class HeaderCollector {
  readonly #block = new ByteWriter(0);
  readonly #maxBytes: number;
  readonly #maxContinuations: number;
  #continuations = 0;

  /** @param maxListBytes the largest header list that is accepted */
  constructor(maxListBytes: number) {
    this.#maxBytes = maxBlockBytes(maxListBytes);
    this.#maxContinuations = maxContinuations(maxListBytes);
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#block.bytes.length;
  }

  /** Takes the fragment of the HEADERS frame. */
  begin(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    this.#continuations = 0;
    return this.#append(bytes, start, end);
  }

  /** Takes the fragment of a CONTINUATION frame. */
  continue(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    if (++this.#continuations > this.#maxContinuations)
      return tooMuch(`${this.#maxContinuations} CONTINUATION frames for one header section`);
    return this.#append(bytes, start, end);
  }

  /** Hands the block over and begins anew, without its memory: such blocks are rare, and idle connections many. */
  take(): Uint8Array {
    const block = this.#block.view();
    this.#block.bytes = new Uint8Array(0);
    this.#block.reset();
    return block;
  }

  #append(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    if (this.#block.length + end - start > this.#maxBytes)
      return tooMuch(`${this.#maxBytes} bytes in one header section`);
    this.#block.copy(bytes, start, end);
    return null;
  }
}

function tooMuch(what: string): Http2Fault {
  return connectionFault(ERROR.enhanceYourCalm, `more than ${what}`);
}

/** SETTINGS_HEADER_TABLE_SIZE that holds without a word of ours (RFC 9113, 6.5.2). */
const HEADER_TABLE_BYTES = 4_096;

/** HEADERS and CONTINUATION frames become header sections (RFC 9113, 4.3, 6.2 and 6.10). */
export class HeaderSections {
  readonly #context: ConnectionContext;
  readonly #requests: Requests;
  readonly #hpack: HpackDecoder;
  readonly #collector: HeaderCollector;
  readonly #range: Range = { start: 0, end: 0 };
  /** The section at hand. Written anew for each, so that none allocates. */
  readonly #section = { id: 0, endStream: false, fault: null as Http2Fault | null };
  /** The stream whose section lacks its end: then nothing but its CONTINUATION frames may come. 0 when there is none. */
  openStream = 0;
  #sinceMs = 0;

  constructor(context: ConnectionContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
    this.#collector = new HeaderCollector(context.limits.maxHeaderListBytes);
    this.#hpack = new HpackDecoder({
      maxTableSize: HEADER_TABLE_BYTES,
      maxListBytes: context.limits.maxHeaderListBytes,
      maxFields: context.limits.maxHeaderFields,
    });
  }

  /** Bytes of memory that the section takes whose end has not come. */
  get capacity(): number {
    return this.#collector.capacity;
  }

  /** Drops that section. */
  clear(): void {
    this.#collector.take();
  }

  onHeaders(bytes: Uint8Array, start: number, end: number, flags: number, id: number): Http2Fault | null {
    if (id === 0) return ON_STREAM_ZERO;
    if ((id & 1) === 0) return EVEN_STREAM;
    const range = this.#range;
    range.start = start;
    range.end = end;
    const fault = readHeaders(bytes, flags, id, range);
    if (fault !== null && fault.scope === 'connection') return fault;
    const section = this.#section;
    section.id = id;
    section.endStream = (flags & FLAG.endStream) !== 0;
    section.fault = fault;
    if ((flags & FLAG.endHeaders) !== 0) return this.#onBlock(bytes, range.start, range.end);
    this.openStream = id;
    this.#sinceMs = this.#context.progress.nowMs;
    return this.#collector.begin(bytes, range.start, range.end);
  }

  onContinuation(bytes: Uint8Array, start: number, end: number, flags: number): Http2Fault | null {
    if (this.openStream === 0) return STRAY_CONTINUATION;
    const tooMuch = this.#collector.continue(bytes, start, end);
    if (tooMuch !== null || (flags & FLAG.endHeaders) === 0) return tooMuch;
    this.openStream = 0;
    const block = this.#collector.take();
    return this.#onBlock(block, 0, block.length);
  }

  /** A section that the peer is too long about; null when there is none. */
  late(nowMs: number): Http2Fault | null {
    const { headersMs } = this.#context.limits;
    return this.openStream !== 0 && nowMs - this.#sinceMs > headersMs ? SLOW : null;
  }

  /** A whole field block. It is decoded whatever becomes of its stream, because it may change the dynamic table. */
  #onBlock(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    let block: HeaderBlock;
    try {
      block = this.#hpack.decode(bytes, start, end);
    } catch (failure) {
      if (!(failure instanceof HpackFault)) throw failure;
      return connectionFault(ERROR.compressionError, failure.message);
    }
    return this.#requests.onSection(block, this.#section);
  }
}
