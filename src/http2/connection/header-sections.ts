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

/** Minimum number of allowed CONTINUATION frames. They are limited because empty frames never reach the byte limit. */
const LEAST_CONTINUATIONS = 32;

/** Minimum of the limit on a compressed field block, in octets. */
const LEAST_BLOCK_BYTES = 65_536;

/**
 * Maximum length of a compressed field block, for a header list of at most `maxListBytes`. A list that is slightly too
 * large is answered with 431. A much larger one ends the connection, because reading it to its end costs too much.
 */
export function maxBlockBytes(maxListBytes: number): number {
  return Math.max(2 * maxListBytes, LEAST_BLOCK_BYTES);
}

/** Maximum number of CONTINUATION frames of one field block: twice as many as with full frames. */
export function maxContinuations(maxListBytes: number): number {
  const full = Math.ceil(maxBlockBytes(maxListBytes) / DEFAULT_MAX_FRAME_BYTES);
  return Math.max(2 * full, LEAST_CONTINUATIONS);
}

/** Joins the fragments of a field block that spans several frames, up to the limits (RFC 9113, 6.10). */
class HeaderCollector {
  readonly #block = new ByteWriter(0);
  readonly #maxBytes: number;
  readonly #maxContinuations: number;
  #continuations = 0;

  /** @param maxListBytes maximum size of the header list, see SETTINGS_MAX_HEADER_LIST_SIZE */
  constructor(maxListBytes: number) {
    this.#maxBytes = maxBlockBytes(maxListBytes);
    this.#maxContinuations = maxContinuations(maxListBytes);
  }

  /** Bytes of memory in use. */
  get capacity(): number {
    return this.#block.bytes.length;
  }

  /** Adds the fragment of the HEADERS frame. */
  begin(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    this.#continuations = 0;
    return this.#append(bytes, start, end);
  }

  /** Adds the fragment of a CONTINUATION frame. */
  continue(bytes: Uint8Array, start: number, end: number): Http2Fault | null {
    if (++this.#continuations > this.#maxContinuations)
      return tooMuch(`${this.#maxContinuations} CONTINUATION frames for one header section`);
    return this.#append(bytes, start, end);
  }

  /** Returns the block and drops its memory, because such blocks are rare and idle connections are many. */
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

/** Decodes HEADERS and CONTINUATION frames to header sections (RFC 9113, 4.3, 6.2 and 6.10). */
export class HeaderSections {
  readonly #context: ConnectionContext;
  readonly #requests: Requests;
  readonly #hpack: HpackDecoder;
  readonly #collector: HeaderCollector;
  readonly #range: Range = { start: 0, end: 0 };
  /** The current section. Reused, so that a section allocates nothing. */
  readonly #section = { id: 0, endStream: false, fault: null as Http2Fault | null };
  /** The stream of an incomplete section, after which only CONTINUATION frames may arrive. 0 without one. */
  openStream = 0;
  #sinceMs = 0;

  constructor(context: ConnectionContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
    this.#collector = new HeaderCollector(context.limits.maxHeaderListBytes);
    this.#hpack = new HpackDecoder({
      maxListBytes: context.limits.maxHeaderListBytes,
      maxFields: context.limits.maxHeaderFields,
    });
  }

  /** Bytes of memory that the incomplete section uses. */
  get capacity(): number {
    return this.#collector.capacity;
  }

  /** Drops the incomplete section. */
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

  /** The fault if the peer takes too long to complete a section; otherwise null. */
  late(nowMs: number): Http2Fault | null {
    const { headersMs } = this.#context.limits;
    return this.openStream !== 0 && nowMs - this.#sinceMs > headersMs ? SLOW : null;
  }

  /** Decodes a complete field block, even if its stream is refused, because it may change the dynamic table. */
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
