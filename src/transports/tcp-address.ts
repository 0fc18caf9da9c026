import { createServer, type ListenOptions } from 'node:net';

/** A TCP address to listen on. */
export interface TcpAddress {
  /** A name or address of this machine. Empty: all addresses. */
  readonly host: string;
  readonly port: number;
  /** Lets other processes of the same user listen on the port as well (SO_REUSEPORT). Linux only. */
  readonly shared?: boolean;
}

/** Names of the settings that an address comes from, for error messages. */
export interface AddressSettings {
  readonly host: string;
  readonly port: string;
  /** `never` for ports that each process needs for itself, even with SHARE_PORTS=true. */
  readonly sharing: 'by SHARE_PORTS' | 'never';
}

/**
 * The port is exclusive: in cluster mode (PM2), Node.js would otherwise share it between workers without being asked.
 */
export function listenOptions({ host, port, shared = false }: TcpAddress): ListenOptions {
  const anywhere = host === '' ? {} : { host };
  return { ...anywhere, port, exclusive: true, ...(shared && { reusePort: true }) };
}

/** Tries to listen on an address. Resolves with the system's error code, such as `EADDRINUSE`, or null on success. */
export function listenProblem(address: TcpAddress): Promise<string | null> {
  return new Promise(resolve => {
    const probe = createServer();
    probe.once('error', cause => resolve('code' in cause ? String(cause.code) : 'unknown error'));
    probe.listen(listenOptions(address), () => probe.close(() => resolve(null)));
  });
}

/** Error message for a failed `listen`: the address, the cause, and which setting to change. */
export function listenFailure(address: TcpAddress, code: string, settings: AddressSettings): string {
  const { host, port } = address;
  const shown = host.includes(':') ? `[${host}]` : host || '0.0.0.0';
  return `cannot listen on ${shown}:${port} (${code}): ${advice(address, code, settings)}`;
}

function advice(
  { shared = false }: TcpAddress,
  code: string,
  { host, port, sharing }: AddressSettings,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return advicePortTaken(shared, port, sharing);
    case 'EACCES':
      return `this process may not use that port; set ${port} to 1024 or higher`;
    case 'EADDRNOTAVAIL':
      return `this machine does not have that address; set ${host} to one that it has, or to 0.0.0.0`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name does not resolve; set ${host} to an address of this machine, or to 0.0.0.0`;
    default:
      return `set ${host === port ? host : `${host} and ${port}`} to an address that can be listened on`;
  }
}

function advicePortTaken(shared: boolean, port: string, sharing: AddressSettings['sharing']): string {
  if (shared)
    return `the port is in use by a process of another user, or by one without SHARE_PORTS=true; stop that process, or set ${port} to a free port`;
  const remedy = `another process listens on this port; stop it, or set ${port} to a free port`;
  if (sharing === 'never')
    return `${remedy}, because each process needs its own port, even with SHARE_PORTS=true`;
  return `${remedy}, or start every process with SHARE_PORTS=true to share the port`;
}

/** The prefix of IPv4 addresses on a socket that serves both address families (RFC 4291, 2.5.5.2). */
const MAPPED = '::ffff:';

/** The address of the peer of a socket; empty for a unix socket, or after it has closed. */
export function peerAddress({ remoteAddress = '' }: { readonly remoteAddress?: string | undefined }): string {
  return remoteAddress.startsWith(MAPPED) ? remoteAddress.slice(MAPPED.length) : remoteAddress;
}
