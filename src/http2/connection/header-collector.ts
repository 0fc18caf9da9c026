import { ByteWriter } from '../../base/bytes.ts';
import { connectionFault, ERROR, type Http2Fault } from '../faults.ts';
import { DEFAULT_MAX_FRAME_BYTES } from '../frame/frame.ts';

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
export class HeaderCollector {
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
