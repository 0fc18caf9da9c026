import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { Address } from './address.ts';
import type { PendingCall } from './pending-call.ts';
import { type Outcome, readReply } from './reply.ts';

const METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
/** Time in which a connection must be established, and its settings received. */
const CONNECT_MS = 5_000;
/** Time to answer a ping, which is sent if a call was not answered in time. */
const PING_MS = 1_000;
const KEEPALIVE_MS = 60_000;
/** A connection takes no more calls after the stream with this number. HTTP/2 numbers streams up to 2^31 - 1. */
const LAST_STREAM = 2 ** 30;

/** What a connection reports. */
interface ConnectionObserver {
  /** The connection can send calls, or more than before. */
  hasRoom(connection: Connection): void;
  /** A call that was sent has come back. */
  replied(call: PendingCall, outcome: Outcome, connection: Connection): void;
  /** The connection takes no more calls. Those that were sent may still be answered, unless there is a `cause`. */
  ended(connection: Connection, cause: Error | undefined): void;
}

/** One HTTP/2 connection to the service. */
export class Connection {
  /** Whether a call was sent. */
  wasAsked = false;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #observer: ConnectionObserver;
  #open = 0;
  #maxOpen = 0;
  #lastStream = 0;
  #establishedMs = Number.POSITIVE_INFINITY;
  #cause: Error | undefined;
  #watch: NodeJS.Timeout | null;

  constructor(address: Address, observer: ConnectionObserver) {
    this.#observer = observer;
    // Calls keep the program running by their timers. A connection without calls does not.
    const socket = address.open().setKeepAlive(true, KEEPALIVE_MS).unref();
    const session = connect(address.origin, {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    this.#session = session;
    this.#socket = socket;
    this.#watch = this.#destroyAfter(CONNECT_MS, 'the service did not accept the connection');
    session.on('remoteSettings', ({ maxConcurrentStreams }) => this.#established(maxConcurrentStreams));
    session.on('goaway', () => observer.ended(this, undefined));
    session.on('error', error => this.#fail(error));
    // Not the session: it reports no end if TLS fails after the handshake, as without a client certificate.
    socket.on('error', error => this.#fail(error));
    socket.on('close', () => {
      this.#stopWatch();
      observer.ended(this, this.#cause ?? new Error('the service closed the connection'));
    });
  }

  /** Whether the service has accepted the connection. */
  get isEstablished(): boolean {
    return this.#establishedMs < Number.POSITIVE_INFINITY;
  }

  /** Whether a call can be sent now. */
  get hasRoom(): boolean {
    const { closed, destroyed } = this.#session;
    return this.#open < this.#maxOpen && !this.#isSpent && !closed && !destroyed;
  }

  /** Whether it takes no more calls, because stream numbers would run out. */
  get #isSpent(): boolean {
    return this.#lastStream > LAST_STREAM;
  }

  /** Time since the service accepted the connection, in milliseconds; negative if it did not. */
  get ageMs(): number {
    return performance.now() - this.#establishedMs;
  }

  send(call: PendingCall): void {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({
        ':method': 'POST',
        ':path': METHOD,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': `${call.leftMs}m`,
      });
    } catch {
      // The session has ended, and has not reported it yet.
      this.#observer.replied(call, null, this);
      return;
    }
    this.#open++;
    this.wasAsked = true;
    call.stream = stream;
    readReply(stream, outcome => {
      this.#open--;
      // Not before: calls of this turn are not written yet, and a closing session refuses them.
      if (this.#isSpent && this.#open === 0) this.#session.close();
      this.#observer.replied(call, outcome, this);
    });
    stream.end(call.message);
    this.#lastStream = stream.id ?? 0;
    if (this.#isSpent) this.#observer.ended(this, undefined);
  }

  /** Destroys the connection if the service does not answer a ping. A peer that vanished closes nothing. */
  probe(): void {
    if (this.#watch !== null || this.#session.destroyed) return;
    this.#watch = this.#destroyAfter(PING_MS, 'the service did not answer a ping');
    this.#session.ping(() => this.#stopWatch());
  }

  /** Closes the connection. Calls that were sent are not answered. */
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  #established(maxOpen: number | undefined): void {
    this.#maxOpen = maxOpen ?? Number.POSITIVE_INFINITY;
    if (!this.isEstablished) {
      this.#stopWatch();
      this.#establishedMs = performance.now();
    }
    this.#observer.hasRoom(this);
  }

  #destroyAfter(ms: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => this.#fail(new Error(`${reason} within ${ms / 1_000} s`)), ms).unref();
  }

  /** @param cause why; the first one counts */
  #fail(cause: Error): void {
    this.#cause ??= cause;
    this.destroy();
  }

  #stopWatch(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
  }
}
