import { lstat, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { systemCode } from '../../base/fault.ts';
import {
  type AddressSettings,
  listenFailure,
  listenOptions,
  listenProblem,
  type TcpAddress,
} from '../tcp-address.ts';
import type { TlsHandshakes } from './tls/tls-handshakes.ts';

/** The address of a server: a host and port, or the path of a unix socket. */
export type ListenAddress = TcpAddress | { readonly path: string };

interface ListenerEvents {
  readonly onConnection: (socket: Socket) => void;
  /** A connection could not be accepted, for example because too many files are open. Listening continues. */
  readonly onAcceptError: (error: Error) => void;
  /** If set, connections are passed on after their TLS handshake. */
  readonly tls?: TlsHandshakes | undefined;
}

/** The settings of a TCP address. */
const SETTINGS: AddressSettings = { host: 'GRPC_HOST', port: 'GRPC_PORT', sharing: 'by SHARE_PORTS' };

const PATH_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process took the path just now: stop it, or set GRPC_UDS to another path',
  // Node.js reports this code for a missing directory as well.
  EACCES:
    'the directory is missing, or this process may not write to it: create it, or set GRPC_UDS to a path elsewhere',
};

/** The system's limit for socket paths. A longer path would be truncated silently. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** A listening socket that keeps a list of its connections, so that they can be closed at shutdown. */
export class Listener {
  readonly address: ListenAddress;
  readonly #server: Server;
  readonly #tls: TlsHandshakes | undefined;
  readonly #connections = new Set<Socket>();
  /** Resolves when the port and every connection have closed; null while the port is open. */
  #closed: Promise<void> | null = null;

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

  /** @throws Error naming the address, the cause and the setting to change */
  static async open(listen: ListenAddress, events: ListenerEvents): Promise<Listener> {
    if ('path' in listen) await preparePath(listen.path);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', cause => reject(openFailure(listen, cause)));
      server.listen('path' in listen ? { path: listen.path, exclusive: true } : listenOptions(listen), () => {
        server.removeAllListeners('error');
        resolve();
      });
    });
    return new Listener(server, listen, events);
  }

  /** Stops listening and removes the socket file. Existing connections and handshakes continue. */
  closePort(): Promise<void> {
    this.#closed ??= new Promise<void>(resolve => this.#server.close(() => resolve()));
    return this.#closed;
  }

  /** Stops listening, aborts handshakes, and removes the socket file. Resolves when every connection has closed. */
  close(): Promise<void> {
    const closed = this.closePort();
    this.#tls?.cut();
    return closed;
  }

  destroyConnections(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }
}

/**
 * Checks that nobody else listens on the port. A shared listener opens a port that other processes of the user share, even
 * if that is a mistake.
 *
 * @throws Error as {@link Listener.open} does
 */
export async function checkPortIsFree(address: TcpAddress): Promise<void> {
  const code = await listenProblem(address);
  if (code !== null) throw new Error(listenFailure(address, code, SETTINGS));
}

function openFailure(listen: ListenAddress, cause: Error): Error {
  const code = systemCode(cause);
  if (!('path' in listen)) return new Error(listenFailure(listen, code, SETTINGS), { cause });
  const advice = PATH_ADVICE[code] ?? 'set GRPC_UDS to a path that can hold a socket';
  return new Error(`cannot listen on the unix socket ${listen.path} (${code}): ${advice}`, { cause });
}

/**
 * Checks the path, and removes a socket file that a killed process has left behind. Otherwise the service could not
 * start after a crash until somebody deletes the file. Nothing else is ever removed.
 */
async function preparePath(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw new Error(
      `cannot listen on the unix socket ${path}: the path has ${bytes} bytes; set GRPC_UDS to a path of at most ${MAX_PATH_BYTES} bytes`,
    );
  }
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw openFailure({ path }, error as Error);
  });
  if (found === null) return;
  if (!found.isSocket()) {
    throw new Error(
      `cannot listen on the unix socket ${path}: there is a file that is not a socket; remove it, or set GRPC_UDS to another path`,
    );
  }
  if (await isAccepting(path)) {
    throw new Error(
      `cannot listen on the unix socket ${path}: another process accepts connections there, and SHARE_PORTS does not apply to unix sockets; stop that process, or set GRPC_UDS to a separate path for each process`,
    );
  }
  await unlink(path).catch((error: unknown) => {
    throw new Error(
      `cannot remove the unused unix socket ${path} (${systemCode(error)}): remove it, or set GRPC_UDS to another path`,
      { cause: error },
    );
  });
}

/** Only a refused connection proves that no process listens. After any other failure, the path counts as in use. */
function isAccepting(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect({ path });
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', error => resolve(systemCode(error) !== 'ECONNREFUSED'));
  });
}
