import { QuotaActions, type QuotaStrategy } from '../messages/quota-codec.ts';

/**
 * Size of a message in bytes from which on it is sent, although more actions follow: half of what gRPC clients accept. A
 * stream whose client has not read the message before yet is ended, so the actions of a round are one message if possible.
 */
const MESSAGE_BYTES = 2 * 1_048_576;

/** The stream of a proxy, and the actions that it is sent. */
export class QuotaStream {
  /** The domain of all reports of the stream; empty before the first one. */
  domain = '';
  /** The address of the proxy; empty for a unix socket. */
  readonly peer: string;
  readonly #send: (message: Uint8Array) => void;
  readonly #actions = new QuotaActions();

  constructor(peer: string, send: (message: Uint8Array) => void) {
    this.peer = peer;
    this.#send = send;
  }

  /** Adds an assignment to the next message. */
  assign(id: Uint8Array, strategy: QuotaStrategy, ttlS: number): void {
    this.#actions.assign(id, strategy, ttlS);
    if (this.#actions.length >= MESSAGE_BYTES) this.flush();
  }

  /** Adds to the next message that the proxy forgets a bucket. */
  abandon(id: Uint8Array): void {
    this.#actions.abandon(id);
    if (this.#actions.length >= MESSAGE_BYTES) this.flush();
  }

  /** Sends what was added. */
  flush(): void {
    if (this.#actions.length > 0) this.#send(this.#actions.take());
  }
}
