import { connect as connectSocket, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import type { Test } from 'tap';
import { type Clock, systemClock } from '../../../../src/base/clock.ts';
import { GrpcJsServer } from '../../../../src/transports/grpc/grpc-js-server.ts';
import type { ListenAddress } from '../../../../src/transports/grpc/listener.ts';
import { OwnGrpcServer } from '../../../../src/transports/grpc/own-server.ts';
import type { GrpcServer } from '../../../../src/transports/grpc/server.ts';
import { TlsHandshakes } from '../../../../src/transports/grpc/tls/tls-handshakes.ts';
import { checkTlsMaterial, type TlsMaterial } from '../../../../src/transports/grpc/tls/tls-material.ts';
import { echo, type MakeGrpcServer, PLAIN_OPTIONS } from '../../../exam/grpc-examinee.ts';
import { Authority, type CertificatePair } from '../../../support/certificates.ts';
import { GrpcClient } from '../../../support/grpc-client.ts';
import { AwaitedLog } from './awaited-log.ts';

export const ENGINES: Readonly<Record<string, MakeGrpcServer>> = {
  sluice: options => new OwnGrpcServer(options),
  'grpc-js': options => new GrpcJsServer(options),
};

/** The one that clients trust, and the one that vouches for clients. */
export const SERVER_CA = new Authority('server root');
export const CLIENT_CA = new Authority('client root');
export const SERVER_PAIR = SERVER_CA.issue({ subject: 'server', names: ['localhost', '127.0.0.1'] });

/** TLS for a server that uses `pair`; with `clientCa`, for clients with a certificate of that CA. */
export function material(pair: CertificatePair, clientCa: string | null = null): TlsMaterial {
  const paths = { certificate: 'c.pem', key: 'k.pem', clientCa: clientCa === null ? null : 'ca.pem' };
  return checkTlsMaterial({ ...pair, clientCa }, paths, systemClock.nowMs());
}

export interface TlsServerSetup {
  readonly makeServer?: MakeGrpcServer;
  readonly listen?: ListenAddress;
  /** Clients must show a certificate of {@link CLIENT_CA} that is valid for this name; empty: for any. */
  readonly clientName?: string;
  /** Times the handshakes. */
  readonly clock?: Clock;
  /** Times the server. */
  readonly serverClock?: Clock;
  readonly maxPending?: number;
  /** When the next handshake starts. */
  readonly nextTurn?: (run: () => void) => void;
}

export interface TlsServer {
  readonly server: GrpcServer;
  readonly handshakes: TlsHandshakes;
  readonly log: AwaitedLog;
}

/** Starts a server with `/s/Echo` over TLS; it ends with its test. */
export async function startTlsServer(t: Test, setup: TlsServerSetup = {}): Promise<TlsServer> {
  const log = new AwaitedLog();
  const { makeServer = ENGINES['sluice'], clientName, clock = systemClock, maxPending, nextTurn } = setup;
  const handshakes = new TlsHandshakes({
    clients: clientName === undefined ? null : { name: clientName },
    logger: log.logger,
    clock,
    ...(maxPending !== undefined && { maxPending }),
    ...(nextTurn !== undefined && { nextTurn }),
  });
  handshakes.use(material(SERVER_PAIR, clientName === undefined ? null : CLIENT_CA.certificate));
  const server = makeServer({
    ...PLAIN_OPTIONS,
    listen: setup.listen ?? PLAIN_OPTIONS.listen,
    tls: handshakes,
    service: { unary: new Map([['/s/Echo', echo]]), serverStreaming: new Map(), bidiStreaming: new Map() },
    logger: log.logger,
    clock: setup.serverClock ?? systemClock,
  });
  await server.start();
  t.teardown(() => server.stop());
  return { server, handshakes, log };
}

/** A client of `@grpc/grpc-js` that trusts {@link SERVER_CA} and shows `pair`; it ends with its test. */
export function tlsClient(
  t: Test,
  address: { readonly port: number },
  pair: CertificatePair | null = null,
): GrpcClient {
  const [key, certificate] =
    pair === null ? [null, null] : [Buffer.from(pair.key), Buffer.from(pair.certificate)];
  const trusted = Buffer.from(SERVER_CA.certificate);
  // By name, because the handshake does not send IP addresses (RFC 6066, 3) and the library warns about it.
  const byName = { host: 'localhost', port: address.port };
  const client = new GrpcClient(byName, credentials.createSsl(trusted, key, certificate));
  t.teardown(() => client.close());
  return client;
}

/** A connection that has not started its handshake. */
export async function openSilent(address: ListenAddress): Promise<Socket> {
  const socket = connectSocket({ ...address });
  socket.on('error', () => {});
  socket.resume();
  await new Promise(resolve => socket.once('connect', resolve));
  return socket;
}

/** Resolves when the connection is gone, by an error or without one. */
export function closed(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once('close', () => resolve()));
}

/** A client certificate as the options of `tls.connect` take it. */
export function showing(pair: CertificatePair): ConnectionOptions {
  return { cert: pair.certificate, key: pair.key };
}

/** With what the types of `tls.connect` leave out. */
type TlsOptions = ConnectionOptions & { readonly allowHalfOpen?: boolean };

/** Begins a TLS connection that offers h2 and trusts {@link SERVER_CA}, unless `options` say otherwise. */
export function openTls(address: ListenAddress, options: TlsOptions = {}): TLSSocket {
  const connection: TlsOptions = {
    ...address,
    servername: 'localhost',
    ca: SERVER_CA.certificate,
    ALPNProtocols: ['h2'],
    ...options,
  };
  const socket = connect(connection);
  // Tests that need the outcome check how the connection ends.
  socket.on('error', () => {});
  return socket;
}

export interface Greeting {
  /** The server has sent its SETTINGS, as only one that serves the connection does. */
  readonly served: boolean;
  /** All that came before the end, when it was not served. */
  readonly text: string;
  /** How the connection failed, by OpenSSL or the system; empty when it was closed. */
  readonly error: string;
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const EMPTY_SETTINGS = Buffer.from('000000040000000000', 'hex');
const SETTINGS_TYPE = 4;

/** Speaks HTTP/2 on a connection that {@link openTls} opens, returns the first answer, and closes the connection. */
export async function greet(address: ListenAddress, options: ConnectionOptions = {}): Promise<Greeting> {
  const socket = openTls(address, options);
  const greeting = await greetOn(socket);
  if (greeting.served) {
    socket.destroy();
    await closed(socket);
  }
  return greeting;
}

/** Speaks HTTP/2 on a connection and returns the first answer. A connection that is served stays open. */
export async function greetOn(socket: TLSSocket): Promise<Greeting> {
  let error = '';
  socket.on('error', failure => {
    error = failure.message;
  });
  socket.write(PREFACE);
  socket.write(EMPTY_SETTINGS);
  let received = Buffer.alloc(0);
  const served = new Promise<boolean>(resolve => {
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 9 && received[3] === SETTINGS_TYPE) resolve(true);
    });
    closed(socket).then(() => resolve(false));
  });
  const isServed = await served;
  return { served: isServed, text: isServed ? '' : received.toString(), error };
}
