import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A TCP connection that writes bytes exactly as given and reads HTTP/1.1 responses one by one. */
export class RawConnection {
  readonly #socket: Socket;
  #pieces: Buffer[] = [];
  #length = 0;
  #closed = false;
  #wake: () => void = () => {};

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** The same, destroyed at the end of the test. */
  static async openFor(t: { teardown(release: () => void): void }, port: number): Promise<RawConnection> {
    const connection = await RawConnection.open(port);
    t.teardown(() => connection.destroy());
    return connection;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', chunk => {
      this.#pieces.push(chunk);
      this.#length += chunk.length;
      this.#wake();
    });
    // A half-open socket has to be closed by the side that is left.
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
    // A reset by the server shows as the close that follows it.
    socket.on('error', () => {});
  }

  /** Resolves once the bytes are with the kernel: true, or false when the connection has ended. */
  write(bytes: string | Uint8Array): Promise<boolean> {
    return new Promise(resolve => this.#socket.write(bytes, failure => resolve(!failure)));
  }

  /** The same, and closes this side; the other may still answer. */
  end(bytes: string): Promise<void> {
    return new Promise(resolve => this.#socket.end(bytes, resolve));
  }

  /** The next response. `HEAD` ones have no body, whatever their length says. */
  async response(to: 'GET' | 'HEAD' = 'GET'): Promise<RawResponse> {
    const headEnd = await this.#until(() => {
      const at = this.#received().indexOf('\r\n\r\n');
      return at < 0 ? undefined : at;
    });
    const [statusLine, ...fields] = this.#received().subarray(0, headEnd).toString('latin1').split('\r\n');
    const headers = new Map(fields.map(field => splitField(field)));
    const length = to === 'HEAD' ? 0 : Number(headers.get('content-length') ?? 0);
    const end = headEnd + 4 + length;
    await this.#until(() => (this.#length < end ? undefined : true));
    const received = this.#received();
    this.#pieces = [received.subarray(end)];
    this.#length -= end;
    const body = received.subarray(headEnd + 4, end).toString('utf8');
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }

  /** Writes a request, and returns the next response. */
  async ask(bytes: string | Uint8Array, to: 'GET' | 'HEAD' = 'GET'): Promise<RawResponse> {
    await this.write(bytes);
    return await this.response(to);
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#closed) await this.#change();
  }

  /** The bytes that were received and not yet taken by `response`. */
  get unread(): string {
    return this.#received().toString('latin1');
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends the connection in such a way that the other side learns of it although it does not read. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** All that was received. Joined only when asked for: a large body comes in many pieces. */
  #received(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }

  async #until<T>(ready: () => T | undefined): Promise<T> {
    for (;;) {
      const value = ready();
      if (value !== undefined) return value;
      if (this.#closed) throw new Error(`closed before a whole response, after: ${this.unread}`);
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }
}

function splitField(field: string): [name: string, value: string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}

/** A POST with a `Content-Length`. */
export function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: test\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** A request without a body. */
export function plain(method: string, path: string): string {
  return `${method} ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
}
