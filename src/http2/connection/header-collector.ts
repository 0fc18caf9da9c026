import { ByteWriter } from '../../base/bytes.ts';
import { ERROR } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';

/** CONTINUATION frames in a row. Honest peers need one or two; a flood of empty ones would never fill the bytes. */
export const MAX_CONTINUATIONS = 32;

/** Octets of a field block, compressed. */
export const MAX_BLOCK_BYTES = 65_536;

const TOO_MANY = connectionFault(
  ERROR.enhanceYourCalm,
  `more than ${MAX_CONTINUATIONS} CONTINUATION frames for one header section`,
);
const TOO_LONG = connectionFault(
  ERROR.enhanceYourCalm,
  `a header section of more than ${MAX_BLOCK_BYTES} bytes`,
);

/** The fragments of a field block that comes in several frames, put together within bounds (RFC 9113, 6.10). */
export class HeaderCollector {
  readonly #block = new ByteWriter(0);
  #continuations = 0;

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
    if (++this.#continuations > MAX_CONTINUATIONS) return TOO_MANY;
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
    if (this.#block.length + end - start > MAX_BLOCK_BYTES) return TOO_LONG;
    this.#block.copy(bytes, start, end);
    return null;
  }
}
