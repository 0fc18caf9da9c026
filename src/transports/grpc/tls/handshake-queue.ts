import type { Socket } from 'node:net';
import { isHelloComplete } from '../first-bytes.ts';

/** Maximum size of a ClientHello. With post-quantum keys and long tickets, clients send about a quarter of it. */
const MAX_HELLO_BYTES = 16_384;

const NOTHING = Buffer.alloc(0);

interface HandshakeQueueEvents {
  /** The ClientHello is complete, and it is the connection's turn. The bytes have been put back into the socket. */
  readonly start: (socket: Socket) => void;
  /**
   * The ClientHello cannot be used, or the client has closed the connection. The connection is no longer in the queue.
   */
  readonly failed: (socket: Socket, reason: string) => void;
  /** Runs a callback after the event loop has polled the sockets: `setImmediate`. */
  readonly nextTurn: (run: () => void) => void;
}

/**
 * Connections whose TLS handshake has not started. A handshake costs up to a millisecond, all of it when the
 * ClientHello is handled. So this queue waits for the complete ClientHello, and starts one handshake per turn of the
 * event loop: however many clients connect, established connections are served between two handshakes.
 */
export class HandshakeQueue {
  readonly #events: HandshakeQueueEvents;
  /** By connection: removes the listeners. */
  readonly #connections = new Map<Socket, () => void>();
  /** Connections with a complete ClientHello, oldest first. */
  readonly #complete = new Set<Socket>();
  #isScheduled = false;

  constructor(events: HandshakeQueueEvents) {
    this.#events = events;
  }

  /** Number of connections with a complete ClientHello. */
  get waiting(): number {
    return this.#complete.size;
  }

  /** Adds a connection that was accepted and not read from. */
  add(socket: Socket): void {
    let hello: Buffer = NOTHING;
    const read = (chunk: Buffer): void => {
      hello = hello.length === 0 ? chunk : Buffer.concat([hello, chunk]);
      if (isHelloComplete(hello)) {
        socket.off('data', read).pause().unshift(hello);
        this.#complete.add(socket);
        this.#schedule();
      } else if (hello.length > MAX_HELLO_BYTES)
        this.#fail(socket, `the ClientHello is longer than ${MAX_HELLO_BYTES} bytes`);
    };
    const failed = (error: Error): void => this.#fail(socket, error.message);
    const closed = (): void => this.#fail(socket, 'the client closed the connection');
    this.#connections.set(socket, () => socket.off('data', read).off('error', failed).off('close', closed));
    socket.on('data', read).on('error', failed).on('close', closed);
  }

  /** Removes a connection; does nothing if it is not in the queue. */
  remove(socket: Socket): void {
    this.#connections.get(socket)?.();
    this.#connections.delete(socket);
    this.#complete.delete(socket);
  }

  #fail(socket: Socket, reason: string): void {
    this.remove(socket);
    this.#events.failed(socket, reason);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#complete.size === 0) return;
    this.#isScheduled = true;
    this.#events.nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    const [socket] = this.#complete;
    if (socket === undefined) return;
    this.remove(socket);
    this.#events.start(socket);
    this.#schedule();
  };
}
