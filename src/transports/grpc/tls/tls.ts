import type { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import { HandshakeQueue } from './handshake-queue.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Time from the connection to the end of the handshake; however busy, a client needs a few round trips only. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** A handshake holds some 35 KB. With more at once the oldest, which is the likeliest to be stuck, gives way. */
const MAX_PENDING_HANDSHAKES = 1_024;

/** For clients that did not ask for a protocol: those are not of gRPC, and read text. */
const NO_ALPN_ANSWER = [
  'HTTP/1.1 505 HTTP Version Not Supported',
  'content-type: text/plain; charset=utf-8',
  'connection: close',
  '',
  'This port speaks gRPC: clients must offer "h2" by ALPN in the TLS handshake. For HTTP/1.1 use the HTTP port: POST /json.',
  '',
].join('\r\n');

interface TlsHandshakesOptions {
  /** What clients must prove; null: they show no certificate. */
  readonly clients: {
    /** The name that their certificates must be valid for; empty: any. */
    readonly name: string;
  } | null;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Default {@link MAX_PENDING_HANDSHAKES}. */
  readonly maxPending?: number;
  /** Runs a callback after the event loop has polled the sockets. Default: `setImmediate`. */
  readonly nextTurn?: (run: () => void) => void;
}

interface Pending {
  /** For log lines: who it was is not known any more when the connection has failed. */
  readonly peer: string;
  readonly timer: Timer;
  readonly ready: (socket: TLSSocket) => void;
}

/**
 * Turns accepted connections into TLS connections that have agreed on HTTP/2 (RFC 9113, 3.2 and 9.2). With a client
 * CA the certificate of the client is verified against it, its extended key usage included; the handshake fails when
 * there is none. What is refused is logged and closed, before a byte of it is served.
 */
export class TlsHandshakes {
  readonly #options: TlsHandshakesOptions;
  readonly #server: Server;
  readonly #pending = new Map<Socket, Pending>();
  readonly #queue: HandshakeQueue;

  constructor(options: TlsHandshakesOptions) {
    this.#options = options;
    const requestCert = options.clients !== null;
    this.#server = createServer({ ALPNProtocols: ['h2'], requestCert, rejectUnauthorized: requestCert });
    this.#server.on('secureConnection', socket => this.#secured(socket));
    this.#server.on('tlsClientError', (error, socket) => this.#failed(error, socket));
    this.#queue = new HandshakeQueue({
      // The documented way to hand a connection to a server that does not listen itself.
      start: socket => this.#server.emit('connection', socket),
      failed: (socket, reason) => this.#giveUp(socket, reason),
      nextTurn: options.nextTurn ?? setImmediate,
    });
  }

  /** What handshakes use from now on. Needed before the first; connections that stand are left alone. */
  use(material: TlsMaterial): void {
    this.#server.setSecureContext(material.context);
  }

  /** Queues the connection for its handshake. `ready` gets the connection when it is done, or is not called. */
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

  /** Cuts the handshakes that wait or are in progress. */
  cut(): void {
    for (const socket of this.#pending.keys()) {
      this.#take(socket);
      socket.destroy();
    }
  }

  /** How many handshakes wait or are in progress. */
  get pending(): number {
    return this.#pending.size;
  }

  /** How many connections have sent their ClientHello and wait for their handshake. */
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
      // Read, or the answer could be lost in a reset. Until the client has closed, the time of the handshake runs on.
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

/** The connection below a TLS connection, which Node.js tells nowhere else. */
function acceptedSocketOf(socket: TLSSocket): Socket {
  return (socket as TLSSocket & { readonly _parent: Socket })._parent;
}

function peerOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return 'unix socket';
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}

/** What OpenSSL makes of the first bytes of a client without TLS. */
const WITHOUT_TLS: ReadonlySet<string> = new Set(['wrong version number', 'http request']);

/** OpenSSL's errors carry a short reason beside a text full of numbers; those of certificates Node.js keeps apart. */
function reasonOf(error: Error, authorizationError: unknown): string {
  if (authorizationError) return `client certificate: ${String(authorizationError)}`;
  const reason = 'reason' in error ? String(error.reason) : error.message;
  return WITHOUT_TLS.has(reason) ? `${reason}: the client does not use TLS` : reason;
}

/**
 * Whether a certificate is valid for `name`, a DNS name or an IP address, by its subject alternative names alone
 * (RFC 9525): the common name does not count, and a wildcard stands for one whole label, the first.
 */
function isValidFor(certificate: X509Certificate, name: string): boolean {
  const plain = name.replace(/\.$/, '');
  if (isIP(plain) !== 0) return certificate.checkIP(plain) !== undefined;
  return certificate.checkHost(plain, { subject: 'never', partialWildcards: false }) !== undefined;
}
