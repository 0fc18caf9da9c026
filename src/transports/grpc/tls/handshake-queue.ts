import type { Socket } from 'node:net';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
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
  /** Runs a callback in the next turn of the event loop: {@link inNextPoll}. */
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

/** Callbacks whose message is on its way, oldest first. */
const due: (() => void)[] = [];

/** Sends the messages that wake this thread. Opened when it is first needed. */
let sender: MessagePort | null = null;

/**
 * Runs a callback in the next turn of the event loop, in the phase in which the loop reads from the sockets.
 *
 * TLS handshakes must start in this phase. Node.js considers the first part of a handshake as written only after the
 * phase, and until then it does not send an alert, but drops it. If a handshake starts in another phase, such as that
 * of `setImmediate`, the loop reads from the sockets again before that. A client that has answered by then and is
 * rejected is disconnected without the alert that names the reason, such as "certificate required".
 *
 * Node.js has no function for this, but it receives messages of other threads in this phase.
 */
export function inNextPoll(run: () => void): void {
  sender ??= openChannel();
  const port = sender;
  // A message that is sent while messages are received can be received at once, before the sockets are read.
  setImmediate(() => {
    due.push(run);
    port.postMessage(null);
  });
}

function openChannel(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.on('message', () => due.shift()?.());
  // The open gRPC port keeps the process running, not this one.
  port2.unref();
  return port1;
}
