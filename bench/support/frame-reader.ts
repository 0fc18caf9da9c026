import { FRAME_HEADER_BYTES, readUint31 } from '../../src/http2/frame/frame.ts';

/** A frame that has come as a whole; its payload is `bytes[start, end)` and valid only during the call. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Finds the frames in what a server sends, however it is cut into pieces. What it sends is trusted. */
export class FrameReader {
  #rest: Uint8Array = new Uint8Array(0);

  read(chunk: Uint8Array, onFrame: (frame: ReceivedFrame) => void): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const size = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
      const start = at + FRAME_HEADER_BYTES;
      const end = start + size;
      if (end > bytes.length) break;
      const stream = readUint31(bytes, at + 5);
      onFrame({ type: bytes[at + 3], flags: bytes[at + 4], stream, bytes, start, end });
      at = end;
    }
    this.#rest = at === bytes.length ? new Uint8Array(0) : bytes.slice(at);
  }
}
