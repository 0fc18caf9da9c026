import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Child } from './child-process.ts';
import { freePort } from './free-port.ts';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

export interface MemcachedServerOptions {
  /** Loopback port; without one a free port is found. */
  readonly port?: number;
  /** Listens on a unix socket, at `address`, instead of a port. */
  readonly unixSocket?: boolean;
  /** More arguments for `memcached`, such as `['-Z', '-o', 'ssl_chain_cert=...']`. */
  readonly args?: readonly string[];
}

/** Longest wait for the server to start or to stop. */
const PATIENCE_MS = 10_000;
/** How often another free port is tried when somebody took the one before. */
const PORT_TRIES = 5;

/**
 * Starts a real `memcached` from the PATH on loopback and waits until it takes connections.
 * Whoever starts it stops it: `t.teardown(() => memcached.stop())`.
 */
export async function startMemcached(options: MemcachedServerOptions = {}): Promise<MemcachedServer> {
  for (let tried = 1; ; tried++) {
    const memcached = new MemcachedServer(options.port ?? (await freePort()), options);
    try {
      await memcached.start();
      return memcached;
    } catch (failure) {
      await memcached.stop();
      const isPortTaken = failure instanceof Error && /failed to listen/i.test(failure.message);
      if (options.port !== undefined || tried === PORT_TRIES || !isPortTaken) throw failure;
    }
  }
}

/** A running memcached of a test's own. */
export class MemcachedServer {
  readonly port: number;
  /** `host:port`, or the path of the unix socket, as settings take it. */
  readonly address: string;
  readonly #directory = makeTempDirectory();
  readonly #args: readonly string[];
  readonly #unixSocket: boolean;
  #child: Child | undefined;

  constructor(port: number, { unixSocket = false, args = [] }: MemcachedServerOptions) {
    this.port = port;
    this.#unixSocket = unixSocket;
    this.address = unixSocket ? join(this.#directory, 'memcached.sock') : `127.0.0.1:${port}`;
    this.#args = args;
  }

  /** Starts the process, which must not run, and waits until it takes connections. */
  async start(): Promise<void> {
    const listen = this.#unixSocket
      ? ['-s', this.address]
      : ['-l', '127.0.0.1', '-p', String(this.port), '-U', '0'];
    // Who is root must name a user, and anybody else cannot change to another one.
    const user = process.getuid?.() === 0 ? ['-u', 'root'] : [];
    // It says what it does on standard error, and on listening that it does.
    const child = new Child({
      command: 'memcached',
      args: [...listen, ...user, '-t', '2', '-vv', ...this.#args],
      env: process.env,
    });
    this.#child = child;
    try {
      await child.line(line => (/server listening/.test(line) ? true : undefined), PATIENCE_MS);
    } catch (failure) {
      await this.kill();
      throw failure;
    }
  }

  /** Ends it and removes its files. A second call is harmless. */
  async stop(): Promise<void> {
    // It has nothing to keep, and an orderly end takes it a second.
    await this.kill();
    removeDirectory(this.#directory);
  }

  /** Ends it at once, without a word to its clients, as a crash would. `start` brings it back, empty. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined && child.pid >= 0) await child.end('SIGKILL', PATIENCE_MS);
  }

  /** Sends SIGSTOP: connections stay open and nothing answers, until {@link thaw}. */
  freeze(): void {
    this.#child?.freeze();
  }

  thaw(): void {
    this.#child?.signal('SIGCONT');
  }

  /** Sends one command over a connection of its own and returns the lines of the answer, to look at what is stored. */
  async command(line: string): Promise<string[]> {
    const socket = this.#unixSocket ? connect(this.address) : connect(this.port, '127.0.0.1');
    // The answer to `quit` is the end of the connection, so whatever comes before it is that to the command.
    socket.end(`${line}\r\nquit\r\n`);
    let text = '';
    socket.setEncoding('latin1').on('data', chunk => {
      text += chunk;
    });
    await once(socket, 'close');
    return text.split('\r\n').slice(0, -1);
  }

  /** The stored text of a key; undefined when there is none. */
  async get(key: string): Promise<string | undefined> {
    return (await this.command(`get ${key}`)).at(-2);
  }
}
