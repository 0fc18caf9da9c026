import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Child } from './child-process.ts';
import { freePort } from './free-port.ts';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

export interface RedisServerOptions {
  /** Loopback port; without one a free port is found. */
  readonly port?: number;
  /** Listens on a unix socket as well, at `socketPath`. */
  readonly unixSocket?: boolean;
  /** More arguments for `redis-server`, such as `['--requirepass', 'secret']`. Later ones win. */
  readonly args?: readonly string[];
}

/** Longest wait for the server to start or to stop. */
const PATIENCE_MS = 10_000;
/** How often another free port is tried when somebody took the one before. */
const PORT_TRIES = 5;

/**
 * Starts a real `redis-server` from the PATH on loopback, without persistence, and waits until it answers.
 * Whoever starts it stops it: `t.teardown(() => redis.stop())`.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const directory = makeTempDirectory();
  try {
    for (let tried = 1; ; tried++) {
      const redis = new RedisServer(options.port ?? (await freePort()), directory, options);
      try {
        await redis.start();
        return redis;
      } catch (failure) {
        if (options.port !== undefined || tried === PORT_TRIES || !isPortTaken(failure)) throw failure;
      }
    }
  } catch (failure) {
    removeDirectory(directory);
    throw failure;
  }
}

function isPortTaken(failure: unknown): boolean {
  return failure instanceof Error && /address already in use/i.test(failure.message);
}

/** A running Redis of a test's own. */
export class RedisServer {
  readonly port: number;
  /** Path of the unix socket, when one was asked for. */
  readonly socketPath: string | undefined;
  readonly #directory: string;
  readonly #args: readonly string[];
  #child: Child | undefined;

  constructor(port: number, directory: string, options: RedisServerOptions) {
    this.port = port;
    this.socketPath = options.unixSocket === true ? join(directory, 'redis.sock') : undefined;
    this.#directory = directory;
    this.#args = options.args ?? [];
  }

  /** `host:port`, as settings take it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The process id, or -1 while it is stopped. */
  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Starts the process, which must not run, and waits until it takes connections. */
  async start(): Promise<void> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#directory];
    args.push('--save', '', '--appendonly', 'no');
    if (this.socketPath !== undefined) args.push('--unixsocket', this.socketPath);
    const child = new Child({ command: 'redis-server', args: [...args, ...this.#args], env: process.env });
    this.#child = child;
    try {
      await child.line(line => (/ready to accept connections/i.test(line) ? true : undefined), PATIENCE_MS);
    } catch (failure) {
      await this.kill();
      throw failure;
    }
  }

  /** Ends it as an operator would, with SIGTERM, and removes its files. A second call is harmless. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    removeDirectory(this.#directory);
  }

  /** Ends it at once, without a word to its clients, as a crash would. `restart` brings it back. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops it, if it runs, and starts it again at the same port and socket, empty. */
  async restart(): Promise<void> {
    await this.#end('SIGTERM');
    await this.start();
  }

  /** Sends SIGSTOP: connections stay open and nothing answers, until {@link thaw}. */
  freeze(): void {
    this.#child?.freeze();
  }

  thaw(): void {
    this.#child?.signal('SIGCONT');
  }

  /** Sends one command over a connection of its own and returns the reply, to look at what is stored. */
  async command(name: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    const password = this.#args[this.#args.indexOf('--requirepass') + 1];
    const isAsked = this.#args.includes('--requirepass') && password !== undefined;
    return await this.#command(isAsked ? { password } : {}, name, args);
  }

  /** The same as a user without a password. */
  async commandAs(username: string, name: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    return await this.#command({ username, password: 'any' }, name, args);
  }

  async #command(
    access: { readonly username?: string; readonly password?: string },
    name: string,
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      connectTimeout: PATIENCE_MS,
      ...access,
    });
    // A failing connection is told by the rejected command; without a listener it would be printed as well.
    client.on('error', () => {});
    try {
      await client.connect();
      return await client.call(name, ...args);
    } finally {
      // After a refused connection there is nothing to close, and closing would hold the process for seconds.
      if (client.status !== 'end') client.disconnect();
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.pid < 0) return;
    const ended = child.end(signal, PATIENCE_MS);
    // A frozen process does not act on SIGTERM before it is thawed.
    child.signal('SIGCONT');
    await ended;
  }
}
