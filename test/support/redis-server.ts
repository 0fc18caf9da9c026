import { join } from 'node:path';
import { Redis } from 'ioredis';
import { during, PATIENCE_MS, ServerProcess, startOn } from './server-process.ts';
import type { Teardown } from './stores.ts';

export interface RedisServerOptions {
  /** Loopback port; without one a free port is found. */
  readonly port?: number;
  /** Listens on a unix socket as well, at `socketPath`. */
  readonly unixSocket?: boolean;
  /** More arguments for `redis-server`, such as `['--requirepass', 'secret']`. Later ones win. */
  readonly args?: readonly string[];
}

/**
 * Starts a real `redis-server` from the PATH on loopback, without persistence, and waits until it answers.
 * Whoever starts it stops it; {@link redisFor} ends with its test.
 */
export function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  return startOn(options.port, port => new RedisServer(port, options));
}

/** A Redis that is stopped with the test. */
export function redisFor(t: Teardown, options?: RedisServerOptions): Promise<RedisServer> {
  return during(t, startRedis(options));
}

/** A running Redis of a test's own. */
export class RedisServer extends ServerProcess {
  /** Path of the unix socket, when one was asked for. */
  readonly socketPath: string | undefined;
  readonly #args: readonly string[];

  constructor(port: number, { unixSocket = false, args = [] }: RedisServerOptions) {
    super(port);
    this.socketPath = unixSocket ? join(this.directory, 'redis.sock') : undefined;
    this.#args = args;
  }

  /** `host:port`, as settings take it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  protected program() {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.directory];
    args.push('--save', '', '--appendonly', 'no');
    if (this.socketPath !== undefined) args.push('--unixsocket', this.socketPath);
    return { command: 'redis-server', args: [...args, ...this.#args], ready: /ready to accept connections/i };
  }

  /** Sends one command over a connection of its own and returns the reply, to look at what is stored. */
  async command(name: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    const password = this.#args[this.#args.indexOf('--requirepass') + 1];
    const isAsked = this.#args.includes('--requirepass') && password !== undefined;
    return await commandAt(this.port, isAsked ? { password } : {}, name, args);
  }

  /** The same as a user without a password. */
  async commandAs(username: string, name: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    return await commandAt(this.port, { username, password: 'any' }, name, args);
  }

  /** Number of connections of clients, without that of the question. */
  async connections(): Promise<number> {
    const clients = String(await this.command('CLIENT', 'LIST', 'TYPE', 'normal'));
    return clients.trim().split('\n').length - 1;
  }
}

/** Sends one command to the Redis or the sentinel at this port of loopback, over a connection of its own. */
export async function commandAt(
  port: number,
  access: { readonly username?: string; readonly password?: string },
  name: string,
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: PATIENCE_MS,
    // Nothing is sent but the command, and the password if there is one.
    protocol: 2,
    disableClientInfo: true,
    enableReadyCheck: false,
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
