import type { Credentials } from '../../../base/credentials.ts';
import type { AuthFile } from '../../../base/files/auth-file.ts';
import type { ClientTls } from '../../../base/tls/client-tls.ts';

/** How to reach one Redis server, and as whom (spec 2.8). */
export interface RedisEndpoint extends Credentials {
  /** How log lines and errors name it: without credentials. */
  readonly shown: string;
  /** A unix socket, or TCP over either version of IP (family 0) or one of them. */
  readonly target:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly family: 0 | 4 | 6 };
  readonly database: number;
  /** Read for each connection, and used instead of the credentials; null when there is none. */
  readonly authFile: AuthFile | null;
  /** Null: no TLS. */
  readonly tls: ClientTls | null;
}

/** `host:port`, as log lines show it and as Redis names other servers. */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The same access to another server: of a cluster, or the master that a sentinel named. */
export function elsewhere(endpoint: RedisEndpoint, host: string, port: number): RedisEndpoint {
  return { ...endpoint, shown: hostPort(host, port), target: { host, port, family: 0 } };
}
