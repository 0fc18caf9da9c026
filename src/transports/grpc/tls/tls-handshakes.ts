import type { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import { http1Answer } from '../first-bytes.ts';
import { HandshakeQueue, inNextPoll } from './handshake-queue.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Timeout from accepting a connection to the end of its handshake, which needs only a few round trips. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Maximum number of pending handshakes, of about 35 KB each. With more, the oldest is dropped: it is likely stuck. */
export const MAX_PENDING_HANDSHAKES = 1_024;

/** The answer to clients that offer no protocol. They are not gRPC clients and read text. */
const NO_ALPN_ANSWER = http1Answer(
  'This port speaks gRPC: clients must offer "h2" by ALPN in the TLS handshake.',
);

interface TlsHandshakesOptions {
  /** Requirements for client certificates; null: clients need no certificate. */
  readonly clients: {
    /** The name that client certificates must be valid for; empty: any name. */
    readonly name: string;
  } | null;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Default {@link MAX_PENDING_HANDSHAKES}. */
  readonly maxPending?: number;
  /** Runs a callback in the next turn of the event loop. Default: {@link inNextPoll}. */
  readonly nextTurn?: (run: () => void) => void;
}

interface Pending {
  /** Address for log lines. A failed connection no longer knows its peer. */
  readonly peer: string;
  readonly timer: Timer;
  readonly ready: (socket: TLSSocket) => void;
}

/**
 * Turns accepted connections into TLS connections that have negotiated HTTP/2 (RFC 9113, 3.2 and 9.2). With a client
 * CA, every client needs a certificate, which is verified against the CA, including its extended key usage. A rejected
 * connection is logged and closed before any of its requests is read.
 */
export class TlsHandshakes {
  readonly #options: TlsHandshakesOptions;
  readonly #server: Server;
  readonly #pending = new Map<Socket, Pending>();
  readonly #queue: HandshakeQueue;

  constructor(options: TlsHandshakesOptions) {
    this.#options = options;
    const requestCert = options.clients !== null;
    // Not imported above: the module takes 2 MB of memory in each thread, and most services do without TLS here.
    const { createServer } = process.getBuiltinModule('node:tls');
    this.#server = createServer({ ALPNProtocols: ['h2'], requestCert, rejectUnauthorized: requestCert });
    this.#server.on('secureConnection', socket => this.#secured(socket));
    this.#server.on('tlsClientError', (error, socket) => this.#failed(error, socket));
    this.#queue = new HandshakeQueue({
      // The documented way to hand a connection to a server that does not listen itself.
      start: socket => this.#server.emit('connection', socket),
      failed: (socket, reason) => this.#giveUp(socket, reason),
      nextTurn: options.nextTurn ?? inNextPoll,
    });
  }

  /**
   * Sets the material for new handshakes. Called before the first handshake. Established connections are unaffected.
   */
  use(material: TlsMaterial): void {
    this.#server.setSecureContext(material.context);
  }

  /** Queues a connection for its handshake. `ready` is called with the TLS connection if the handshake succeeds. */
  accept(socket: Socket, ready: (socket: TLSSocket) => void): void {
    const { clock, maxPending = MAX_PENDING_HANDSHAKES } = this.#options;
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= maxPending) this.#refuse(oldest, 'too many handshakes are in progress');
    const timer = clock.after(HANDSHAKE_TIMEOUT_MS, () =>
      this.#refuse(socket, `timeout after ${HANDSHAKE_TIMEOUT_MS / 1000} s`),
    );
    this.#pending.set(socket, { peer: peerOf(socket), timer, ready });
    this.#queue.add(socket);
  }

  /** Aborts the handshakes that wait or are in progress. */
  cut(): void {
    for (const socket of this.#pending.keys()) {
      this.#take(socket);
      socket.destroy();
    }
  }

  /** Number of handshakes that wait or are in progress. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Number of connections that have sent their ClientHello and wait for their handshake. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  #secured(socket: TLSSocket): void {
    const accepted = acceptedSocketOf(socket);
    const peer = this.#pending.get(accepted)?.peer;
    if (peer === undefined) {
      socket.destroy();
    } else if (socket.alpnProtocol !== 'h2') {
      this.#options.logger.debug('TLS handshake refused', { peer, reason: 'the client did not offer h2' });
      // Input is read and discarded, because a reset could overtake the answer. The handshake timeout stays active
      // until the client has closed the connection.
      socket.once('close', () => this.#take(accepted));
      socket.resume();
      socket.end(NO_ALPN_ANSWER);
    } else {
      const pending = this.#take(accepted);
      if (this.#hasName(socket, peer)) pending?.ready(socket);
      else socket.destroy();
    }
  }

  #hasName(socket: TLSSocket, peer: string): boolean {
    const name = this.#options.clients?.name ?? '';
    if (name === '') return true;
    const certificate = socket.getPeerX509Certificate();
    if (certificate !== undefined && isValidFor(certificate, name)) return true;
    this.#options.logger.warning(
      'TLS client rejected: its certificate is not valid for the name in GRPC_CLIENT_TLS_SAN',
      { peer, name, names: certificate?.subjectAltName ?? 'none' },
    );
    return false;
  }

  #failed(error: Error, socket: TLSSocket): void {
    const accepted = acceptedSocketOf(socket);
    const reason = reasonOf(error, socket.authorizationError);
    socket.destroy();
    this.#giveUp(accepted, reason);
  }

  #giveUp(socket: Socket, reason: string): void {
    const pending = this.#take(socket);
    socket.destroy();
    if (pending !== undefined)
      this.#options.logger.debug('TLS handshake failed', { peer: pending.peer, reason });
  }

  #refuse(socket: Socket, reason: string): void {
    const pending = this.#take(socket);
    socket.destroy();
    this.#options.logger.debug('TLS handshake refused', { peer: pending?.peer, reason });
  }

  #take(socket: Socket): Pending | undefined {
    const pending = this.#pending.get(socket);
    this.#pending.delete(socket);
    this.#queue.remove(socket);
    pending?.timer.cancel();
    return pending;
  }
}

/** The connection below a TLS connection. Node.js has no public property for it. */
function acceptedSocketOf(socket: TLSSocket): Socket {
  return (socket as TLSSocket & { readonly _parent: Socket })._parent;
}

function peerOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return 'unix socket';
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}

/** Errors of OpenSSL for the first bytes of a client that does not use TLS. */
const WITHOUT_TLS: ReadonlySet<string> = new Set(['wrong version number', 'http request']);

/**
 * The short reason of an OpenSSL error, whose message is full of numbers. Node.js reports certificate errors
 * separately.
 */
function reasonOf(error: Error, authorizationError: unknown): string {
  if (authorizationError) return `client certificate: ${String(authorizationError)}`;
  const reason = 'reason' in error ? String(error.reason) : error.message;
  return WITHOUT_TLS.has(reason) ? `${reason}: the client does not use TLS` : reason;
}

/**
 * Whether a certificate is valid for `name`, a DNS name or an IP address, according to its subject alternative names
 * (RFC 9525). The common name is ignored, and a wildcard matches exactly one label, the first.
 */
function isValidFor(certificate: X509Certificate, name: string): boolean {
  const plain = name.replace(/\.$/, '');
  if (isIP(plain) !== 0) return certificate.checkIP(plain) !== undefined;
  return certificate.checkHost(plain, { subject: 'never', partialWildcards: false }) !== undefined;
}
