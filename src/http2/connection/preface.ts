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
