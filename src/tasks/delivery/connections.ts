import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { type buildConnector, Client } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { asError, systemCode } from '../../base/fault.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { DeliveryFault } from './delivery.ts';
import type { HostAddress } from './host-addresses.ts';

/** Head of an answer. */
const MAX_REPLY_HEAD_BYTES = 16 * 1024;
/** A TCP and TLS handshake, whatever the timeout of the task is. */
const CONNECT_MS = 10_000;
/** If a host has several addresses, the next one is tried after this delay. */
const NEXT_ADDRESS_MS = 2_000;
/** How long an idle connection is kept: shorter than servers keep theirs, because a request sent to a closing one is lost. */
const IDLE_MS = 4_000;
/** Maximum idle time of a connection whose server announces its own timeout. */
const MAX_IDLE_MS = 30_000;

type ConnectOptions = buildConnector.Options;
type Connected = buildConnector.Callback;

/**
 * One connection to a host, and the client that speaks HTTP/1.1 over it: one request at a time. It connects to addresses
 * that were checked, and never asks for those of a name itself.
 */
export class Connection {
  /**
   * The tenant of the connection. Tenants do not share connections, so that one tenant never reads a response to
   * another.
   */
  readonly key: string;
  readonly client: Client;
  readonly #secureContext: () => SecureContext;
  readonly #clock: Clock;
  #addresses: readonly HostAddress[] = [];
  #socket: Socket | null = null;
  #alert: DeliveryFault | null = null;

  constructor(
    key: string,
    origin: string,
    secureContext: () => SecureContext,
    clock: Clock,
    lost: (connection: Connection) => void,
  ) {
    this.key = key;
    this.#secureContext = secureContext;
    this.#clock = clock;
    this.client = new Client(origin, {
      connect: (to: ConnectOptions, connected: Connected) => this.#connect(to, connected),
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_REPLY_HEAD_BYTES,
      // An attempt has one timeout over all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
    });
    this.client.on('disconnect', () => lost(this));
  }

  /**
   * The TLS alert that the server sent after the handshake; null for none. With TLS 1.3, the server requires a client
   * certificate in this way. The client reports only that the connection closed.
   */
  get alert(): DeliveryFault | null {
    return this.#alert;
  }

  /** Whether it can be used for a host that has these addresses now. Without a connection it makes one to them. */
  use(addresses: readonly HostAddress[]): boolean {
    this.#addresses = addresses;
    const socket = this.#socket;
    if (socket === null || socket.destroyed) return true;
    return addresses.some(({ address }) => address === socket.remoteAddress);
  }

  /** Closes the connection at once, even while it is being established. A request on it fails. */
  destroy(): void {
    // The client does not know the socket until it is connected.
    this.#socket?.destroy();
    this.client.destroy().catch(() => {});
  }

  #connect(to: ConnectOptions, connected: Connected): void {
    const secure = to.protocol === 'https:';
    const options = {
      host: to.hostname,
      port: to.port === '' ? (secure ? 443 : 80) : Number(to.port),
      lookup: this.#lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
      noDelay: true,
    };
    const socket = secure ? this.#secured(to, options) : connectTcp(options);
    this.#socket = socket;
    this.#alert = null;
    const timer = this.#clock.after(CONNECT_MS, () => {
      socket.destroy(
        new DeliveryFault('connect_failed', `no connection within ${CONNECT_MS / 1000} seconds`),
      );
    });
    let reached = false;
    let done = false;
    const end = (failure: unknown): void => {
      if (done) return;
      done = true;
      timer.cancel();
      if (failure === null) connected(null, socket);
      else connected(connectFault(failure, reached), null);
    };
    socket.once('connect', () => {
      reached = true;
    });
    socket.once(secure ? 'secureConnect' : 'connect', () => end(null));
    socket.on('error', failure => {
      if (done && ALERT.test(systemCode(failure))) this.#alert = connectFault(failure, true);
      end(failure);
    });
    // A socket that is destroyed without an error while it connects emits nothing else.
    socket.once('close', () => end(new Error('closed')));
  }

  #secured(to: ConnectOptions, options: object): Socket {
    return connectTls({
      ...options,
      // If the URL has an address, no server name is sent, and the certificate must contain the address.
      ...(isIP(to.hostname) === 0 ? { servername: to.hostname } : {}),
      secureContext: this.#secureContext(),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
    });
  }

  /** Replaces the DNS lookup: returns the addresses that were checked before the attempt. */
  readonly #lookup: LookupFunction = (_host, { all }, found) => {
    const addresses = this.#addresses.map(({ address, family }) => ({ address, family }));
    process.nextTick(() => {
      if (all === true) found(null, addresses);
      else found(null, addresses[0].address, addresses[0].family);
    });
  };
}

/** Error codes of Node.js for the alerts of a server. */
const ALERT = /^ERR_SSL_.*_ALERT_/;

/** @param reached the TCP connection was there */
function connectFault(failure: unknown, reached: boolean): DeliveryFault {
  if (failure instanceof DeliveryFault) return failure;
  const code = systemCode(asError(failure));
  if (reached) return new DeliveryFault('tls', tlsMessage(code));
  if (code === 'ECONNREFUSED')
    return new DeliveryFault('connect_refused', 'nothing listens at the address and port');
  return new DeliveryFault(
    'connect_failed',
    /^E[A-Z]+$/.test(code) ? `the connection failed: ${code}` : 'the connection failed',
  );
}

/** Only the operator can add an authority. */
const ADD_AUTHORITY = '; the operator of this service can add it in TASKS_PUSH_CACERT';

/** With TLS 1.2, servers send the same alert if they do not support the ciphers of the client. */
const MAY_REQUIRE_CERTIFICATE =
  'the TLS handshake failed: the server may require a client certificate, which pushes do not send';

/** The messages of the TLS library are not used: they quote the certificate, which can contain any text. */
function tlsMessage(code: string): string {
  const known: Readonly<Record<string, string>> = {
    CERT_HAS_EXPIRED: 'the certificate has expired',
    CERT_NOT_YET_VALID: 'the certificate is not valid yet',
    DEPTH_ZERO_SELF_SIGNED_CERT: `the certificate is self-signed${ADD_AUTHORITY}`,
    SELF_SIGNED_CERT_IN_CHAIN: `the certificate is signed by an authority that is not trusted${ADD_AUTHORITY}`,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: `the certificate is signed by an authority that is not known${ADD_AUTHORITY}`,
    UNABLE_TO_GET_ISSUER_CERT: `the certificate is signed by an authority that is not known${ADD_AUTHORITY}`,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `the certificate is signed by an authority that is not known${ADD_AUTHORITY}`,
    ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
    CERT_REVOKED: 'the certificate was revoked',
    ERR_SSL_WRONG_VERSION_NUMBER:
      'the TLS handshake failed: the server does not use TLS, so the URL must begin with http://',
    // The code depends on the version of OpenSSL.
    ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: MAY_REQUIRE_CERTIFICATE,
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': MAY_REQUIRE_CERTIFICATE,
    ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      'the TLS handshake failed: the server requires a client certificate, which pushes do not send',
  };
  return known[code] ?? `the TLS handshake failed${/^[A-Z0-9_/]+$/.test(code) ? `: ${code}` : ''}`;
}

interface ConnectionOptions {
  /** Idle connections in all; beyond, the one that has been idle the longest is closed. */
  readonly maxIdle: number;
  /** Certificates (PEM) of authorities that are trusted beside the well-known ones; null for none. */
  readonly ca: string | null;
  readonly clock: Clock;
}

/** Connections to hosts, kept for the next attempt. */
export class Connections {
  readonly #maxIdle: number;
  readonly #ca: string;
  /** Made for the first connection with TLS, and shared, because creating one parses every trusted certificate. */
  #secureContext: SecureContext | null = null;
  readonly #clock: Clock;
  /** By key, the one that was used last at the end. */
  readonly #idle = new Map<string, Connection[]>();
  /** All of those, the one that has been idle the longest first. */
  readonly #idleInOrder = new Set<Connection>();
  readonly #used = new Set<Connection>();

  /** @throws Error when the certificates cannot be read */
  constructor({ maxIdle, ca, clock }: ConnectionOptions) {
    this.#maxIdle = maxIdle;
    this.#ca = ca ?? '';
    this.#clock = clock;
    // A certificate that cannot be read is a fault at the start, not at the first delivery.
    if (ca !== null) this.#trusting();
  }

  readonly #trusting = () => (this.#secureContext ??= createSecureContext({ ca: trustedCas(this.#ca) }));

  /** Connections that there are, idle or in use. */
  get size(): number {
    return this.#used.size + this.#idleInOrder.size;
  }

  /** One for this tenant and origin, for one attempt. It goes back with {@link give} or {@link drop}. */
  take(tenant: string, origin: string, addresses: readonly HostAddress[]): Connection {
    const key = `${tenant} ${origin}`;
    const idle = this.#idle.get(key);
    while (idle !== undefined && idle.length > 0) {
      const connection = idle[idle.length - 1];
      this.#forget(connection);
      if (connection.use(addresses)) {
        this.#used.add(connection);
        return connection;
      }
      // The name leads elsewhere now.
      connection.destroy();
    }
    const connection = new Connection(key, origin, this.#trusting, this.#clock, lost => this.#lost(lost));
    connection.use(addresses);
    this.#used.add(connection);
    return connection;
  }

  /** Returns the connection of an attempt, for the next one. */
  give(connection: Connection): void {
    if (!this.#used.delete(connection)) return;
    const idle = this.#idle.get(connection.key);
    if (idle === undefined) this.#idle.set(connection.key, [connection]);
    else idle.push(connection);
    this.#idleInOrder.add(connection);
    if (this.#idleInOrder.size <= this.#maxIdle) return;
    const [oldest] = this.#idleInOrder;
    this.#forget(oldest);
    oldest.destroy();
  }

  /** Closes the connection of an attempt. */
  drop(connection: Connection): void {
    this.#used.delete(connection);
    connection.destroy();
  }

  /** Closes all of them. */
  close(): void {
    const all = [...this.#used, ...this.#idleInOrder];
    this.#used.clear();
    this.#idle.clear();
    this.#idleInOrder.clear();
    for (const connection of all) connection.destroy();
  }

  /** An idle connection was closed by the server or by its idle timeout. */
  #lost(connection: Connection): void {
    if (!this.#idleInOrder.has(connection)) return;
    this.#forget(connection);
    connection.destroy();
  }

  #forget(connection: Connection): void {
    this.#idleInOrder.delete(connection);
    const idle = this.#idle.get(connection.key);
    if (idle === undefined) return;
    const at = idle.lastIndexOf(connection);
    if (at >= 0) idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.key);
  }
}
