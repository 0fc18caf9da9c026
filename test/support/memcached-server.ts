import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { during, ServerProcess, startOn } from './server-process.ts';
import type { Teardown } from './stores.ts';

export interface MemcachedServerOptions {
  /** Loopback port; without one a free port is found. */
  readonly port?: number;
  /** Listens on a unix socket, at `address`, instead of a port. */
  readonly unixSocket?: boolean;
  /** More arguments for `memcached`, such as `['-Z', '-o', 'ssl_chain_cert=...']`. */
  readonly args?: readonly string[];
}

/**
 * Starts a real `memcached` from the PATH on loopback and waits until it takes connections.
 * Whoever starts it stops it; {@link memcachedFor} ends with its test.
 */
export function startMemcached(options: MemcachedServerOptions = {}): Promise<MemcachedServer> {
  return startOn(options.port, port => new MemcachedServer(port, options));
}

/** A memcached that is stopped with the test. */
export function memcachedFor(t: Teardown, options?: MemcachedServerOptions): Promise<MemcachedServer> {
  return during(t, startMemcached(options));
}

/** A running memcached of a test's own. */
export class MemcachedServer extends ServerProcess {
  /** `host:port`, or the path of the unix socket, as settings take it. */
  readonly address: string;
  readonly #args: readonly string[];
  readonly #unixSocket: boolean;

  constructor(port: number, { unixSocket = false, args = [] }: MemcachedServerOptions) {
    super(port);
    this.#unixSocket = unixSocket;
    this.address = unixSocket ? join(this.directory, 'memcached.sock') : `127.0.0.1:${port}`;
    this.#args = args;
  }

  protected program() {
    const listen = this.#unixSocket
      ? ['-s', this.address]
      : ['-l', '127.0.0.1', '-p', String(this.port), '-U', '0'];
    // Who is root must name a user, and anybody else cannot change to another one.
    const user = process.getuid?.() === 0 ? ['-u', 'root'] : [];
    // It says what it does on standard error, and on listening that it does.
    const args = [...listen, ...user, '-t', '2', '-vv', ...this.#args];
    return { command: 'memcached', args, ready: /server listening/ };
  }

  /** It has nothing to keep, and an orderly end takes it a second. */
  protected override async end(): Promise<void> {
    await super.end('SIGKILL');
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
