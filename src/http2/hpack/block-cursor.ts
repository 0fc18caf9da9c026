import { HpackFault } from './hpack-fault.ts';

const NOTHING = new Uint8Array(0);

/** Where reading has come to in a header block: `bytes[position, end)` is still to be read. */
export class BlockCursor {
  bytes: Uint8Array = NOTHING;
  position = 0;
  end = 0;
  #start = 0;

  open(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.#start = start;
  }

  /** Lets go of the bytes, which are part of a socket's read buffer. */
  close(): void {
    this.open(NOTHING, 0, 0);
  }

  /** A fault about what begins at `position`, which counts in `bytes`. */
  fault(section: string, message: string, position: number): HpackFault {
    return new HpackFault(section, message, position - this.#start);
  }
}
