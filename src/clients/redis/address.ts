import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { AuthFile, Credentials } from '../../base/files/auth-file.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';

/** The address of a Redis server: a TCP port or a unix socket. */
export type RedisAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** How to reach one Redis server, and with which credentials (spec 2.8). */
export interface RedisEndpoint extends Credentials {
  /** The server as log lines and errors name it, without credentials. */
  readonly shown: string;
  /** A unix socket, or TCP over either version of IP (family 0) or one of them. */
  readonly target:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly family: 0 | 4 | 6 };
  readonly database: number;
  /** Read for each connection and used instead of the credentials; null for none. */
  readonly authFile: AuthFile | null;
  /** What to do if the server does not accept the credentials: `check REDIS_AUTH`. */
  readonly credentialsAdvice?: string;
  /** Null for a connection without TLS. */
  readonly tls: ClientTls | null;
}

/** `host:port`, or `[IPv6]:port`: how log lines name a server, and how Redis names other servers. */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address as log lines and errors show it. */
export function shownAddress(address: RedisAddress): string {
  return 'path' in address ? address.path : hostPort(address.host, address.port);
}

/** Returns the access for another server, such as a node of the same cluster or the master that a sentinel named. */
export function elsewhere(endpoint: RedisEndpoint, host: string, port: number): RedisEndpoint {
  return { ...endpoint, shown: hostPort(host, port), target: { host, port, family: 0 } };
}

/**
 * TLS options for a connection to `address`. They include the name of the server (SNI), by which a server with several
 * certificates chooses one. An IP address is not a valid server name, so it is left out.
 */
export function tlsOptions(options: ConnectionOptions, address: RedisAddress): ConnectionOptions {
  const named = 'host' in address && isIP(address.host) === 0;
  return { ...(named && { servername: address.host }), ...options };
}
