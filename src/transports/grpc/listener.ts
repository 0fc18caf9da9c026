import { lstat, unlink } from 'node:fs/promises';
import {
  type AddressInfo,
  connect,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import type { TlsHandshakes } from './tls.ts';

/** Where a server listens: a host and port, or the path of a unix socket. */
export type ListenAddress =
  | {
      readonly host: string;
      readonly port: number;
      /** Other processes of this user that share it may listen there as well (SO_REUSEPORT). Linux only. */
      readonly shared?: boolean;
    }
  | { readonly path: string };

export interface ListenerEvents {
  readonly onConnection: (socket: Socket) => void;
  /** A connection could not be accepted (for example: too many open files). Listening goes on. */
  readonly onAcceptError: (error: Error) => void;
  /** With it, connections are handed on once their TLS handshake is done. */
  readonly tls?: TlsHandshakes | undefined;
}

/** What to do about the usual causes for which a port cannot be opened, by error code. */
const TCP_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another process listens there: stop it, or set GRPC_PORT to a free port, or start every process with SHARE_PORTS=true to share this one',
  EACCES: 'this process may not use that port: set GRPC_PORT to 1024 or higher',
  EADDRNOTAVAIL: 'this machine does not have that address: set GRPC_HOST to one it has, or to 0.0.0.0',
  ENOTFOUND: 'the host name does not resolve: set GRPC_HOST to an address of this machine, or to 0.0.0.0',
};

/** The port was asked for with `shared`, so whoever holds it does not share. */
const HELD_ALONE =
  'a process of another user, or one without SHARE_PORTS=true, listens there: stop it, or set GRPC_PORT to a free port';

const PATH_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process took the path just now: stop it, or set GRPC_UDS to another path',
  // Also the code that Node gives for a directory that does not exist.
  EACCES:
    'the directory is missing, or this process may not write to it: create it, or set GRPC_UDS to a path elsewhere',
};

/** What the system's socket addresses hold. A longer path would be cut without a word and the socket made elsewhere. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** A listening socket that knows its connections, so that whoever stops it can cut those that linger. */
export class Listener {
  readonly address: ListenAddress;
  readonly #server: Server;
  readonly #tls: TlsHandshakes | undefined;
  readonly #connections = new Set<Socket>();

  private constructor(server: Server, listen: ListenAddress, events: ListenerEvents) {
    this.#server = server;
    this.#tls = events.tls;
    const bound = server.address() as AddressInfo | string;
    this.address = typeof bound === 'string' ? listen : { host: bound.address, port: bound.port };
    server.on('error', events.onAcceptError);
    server.on('connection', socket => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      if (this.#tls === undefined) events.onConnection(socket);
      else this.#tls.accept(socket, events.onConnection);
    });
  }

  /** Fails with a text that names the address, the cause and the setting to change. */
  static async open(listen: ListenAddress, events: ListenerEvents): Promise<Listener> {
    if ('path' in listen) await preparePath(listen.path);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', cause => reject(listenFailure(listen, cause)));
      server.listen(listenOptions(listen), () => {
        server.removeAllListeners('error');
        resolve();
      });
    });
    return new Listener(server, listen, events);
  }

  /** Accepts no more, cuts handshakes, and removes the socket file. Resolves once every connection has ended. */
  close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    this.#tls?.cut();
    return closed;
  }

  destroyConnections(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#connections.size;
  }
}

/** Exclusive, because the workers of a Node.js cluster (PM2 has such) would share what nobody asked to be shared. */
function listenOptions(listen: ListenAddress): ListenOptions {
  if ('path' in listen) return { path: listen.path, exclusive: true };
  const { host, port, shared = false } = listen;
  return { host, port, exclusive: true, ...(shared && { reusePort: true }) };
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function listenFailure(listen: ListenAddress, cause: Error): Error {
  const code = errorCode(cause);
  if ('path' in listen) {
    const advice = PATH_ADVICE[code] ?? 'set GRPC_UDS to a path that can hold a socket';
    return new Error(`cannot listen on the unix socket ${listen.path} (${code}): ${advice}`, { cause });
  }
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  const isHeldAlone = listen.shared === true && code === 'EADDRINUSE';
  const advice = isHeldAlone
    ? HELD_ALONE
    : (TCP_ADVICE[code] ?? 'set GRPC_HOST and GRPC_PORT to an address that can be opened');
  const place = `${host}:${listen.port}, as GRPC_HOST and GRPC_PORT say`;
  return new Error(`cannot listen on ${place} (${code}): ${advice}`, { cause });
}

/**
 * Checks the path, and removes the socket file that a killed process left: else one crash would keep the service
 * down until somebody deletes the file. Nothing else is ever removed.
 */
async function preparePath(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw new Error(
      `cannot listen on the unix socket ${path}: its path takes ${bytes} bytes; set GRPC_UDS to one of at most ${MAX_PATH_BYTES}`,
    );
  }
  const found = await lstat(path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw listenFailure({ path }, error as Error);
  });
  if (found === null) return;
  if (!found.isSocket()) {
    throw new Error(
      `cannot listen on the unix socket ${path}: there is a file that is not a socket; remove it, or set GRPC_UDS to another path`,
    );
  }
  if (await isAccepting(path)) {
    throw new Error(
      `cannot listen on the unix socket ${path}: another process accepts connections there, and a unix socket is not shared, whatever SHARE_PORTS says; stop it, or set GRPC_UDS to a path of its own for each process`,
    );
  }
  await unlink(path).catch((error: unknown) => {
    throw new Error(
      `cannot remove the unused unix socket ${path} (${errorCode(error)}): remove it, or set GRPC_UDS to another path`,
      { cause: error },
    );
  });
}

/** Only a refused connection proves that nobody listens; any other failure counts as somebody. */
function isAccepting(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect({ path });
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', error => resolve(errorCode(error) !== 'ECONNREFUSED'));
  });
}
