import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One answer as it came over the wire. */
export interface PeerAnswer {
  readonly status: number;
  /** Names in lower case; of a repeated field the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Reads what a server sends, and writes bytes exactly as given. It makes no assumptions about what the server sends.
 */
export class HttpPeer {
  readonly answers: PeerAnswer[] = [];
  /** True once the connection has ended, in whatever way. */
  closed = false;
  readonly #socket: Socket;
  /** Whether an answer with this index has no body, whatever its length says. */
  readonly #bodiless: boolean;
  #unread = Buffer.alloc(0);
  /** Bytes that followed, in the pieces in which they arrived. They are joined when they may be a whole answer. */
  #pieces: Buffer[] = [];
  #length = 0;
  #needed = 0;
  #wake: () => void = () => {};

  static async open(port: number, bodiless = false): Promise<HttpPeer> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    return new HttpPeer(socket, bodiless);
  }

  private constructor(socket: Socket, bodiless: boolean) {
    this.#socket = socket;
    this.#bodiless = bodiless;
    socket.on('data', chunk => {
      this.#pieces.push(chunk);
      this.#length += chunk.length;
      if (this.#length >= this.#needed) this.#readAnswers();
      this.#wake();
    });
    const ended = (): void => {
      this.closed = true;
      this.#wake();
    };
    // The end of the server's side is the end: it answers nothing more.
    socket.on('end', ended);
    socket.on('close', ended);
    // A reset shows as the close that follows it.
    socket.on('error', () => {});
  }

  /** Writes each piece so that the server, in this very process, reads it before the next one is written. */
  async write(pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) {
      if (this.closed) return;
      this.#socket.write(piece, 'latin1');
      // The write has reached the kernel; within two turns every socket that has something is read.
      await nextTurn();
      await nextTurn();
    }
  }

  /** Closes this side; the other may still answer. */
  end(): void {
    this.#socket.end();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Resolves once `met` holds, or after `boundMs`. It is asked whenever something has arrived. */
  async until(met: () => boolean, boundMs: number): Promise<void> {
    const over = performance.now() + boundMs;
    while (!met()) {
      const leftMs = over - performance.now();
      if (leftMs <= 0) return;
      await new Promise<void>(resolve => {
        const bound = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(bound);
          resolve();
        };
      });
    }
  }

  #readAnswers(): void {
    this.#unread = Buffer.concat([this.#unread, ...this.#pieces]);
    this.#pieces = [];
    this.#takeAnswers();
    this.#length = this.#unread.length;
  }

  #takeAnswers(): void {
    this.#needed = 0;
    for (;;) {
      const end = this.#unread.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [statusLine, ...fields] = this.#unread.toString('latin1', 0, end).split('\r\n');
      const headers = new Map(fields.map(splitField));
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1] ?? 0);
      const taken = this.#bodyFrom(end + 4, headers);
      if (taken === null) return;
      this.#unread = this.#unread.subarray(taken.end);
      this.answers.push({ status, headers, body: taken.body });
    }
  }

  #bodyFrom(start: number, headers: ReadonlyMap<string, string>): { body: string; end: number } | null {
    if (this.#bodiless) return { body: '', end: start };
    if (headers.get('transfer-encoding') === 'chunked') return this.#chunksFrom(start);
    const end = start + Number(headers.get('content-length') ?? 0);
    if (this.#unread.length >= end) return { body: this.#unread.toString('utf8', start, end), end };
    this.#needed = end;
    return null;
  }

  #chunksFrom(start: number): { body: string; end: number } | null {
    let body = '';
    for (let at = start; ; ) {
      const lineEnd = this.#unread.indexOf('\r\n', at);
      if (lineEnd === -1) return null;
      const size = Number.parseInt(this.#unread.toString('latin1', at, lineEnd), 16);
      const end = lineEnd + 2 + size + 2;
      if (this.#unread.length < end) return null;
      body += this.#unread.toString('utf8', lineEnd + 2, end - 2);
      if (size === 0) return { body, end };
      at = end;
    }
  }
}

function splitField(field: string): [name: string, value: string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}
