import { Command, Redis, type RedisOptions, ReplyError } from 'ioredis';
import { asError } from '../../../base/fault.ts';
import { type RedisEndpoint, tlsOptions } from '../../../clients/redis/address.ts';
import {
  CommandTimeout,
  explainCredentials,
  IOREDIS_TEXT,
  isUnaskedPassword,
  isUnknownScript,
  RedisReplyError,
  refusesScripts,
  withoutSecrets,
} from '../../../clients/redis/errors.ts';
import { CommandWriter } from '../protocol/command-writer.ts';
import { exchange } from '../protocol/exchange.ts';
import { INCREMENT } from '../protocol/scripts.ts';

/** The reason if nothing else is known. */
const CLOSED = 'the connection was closed';

interface ConnectionOptions {
  readonly endpoint: RedisEndpoint;
  /** Timeout of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
}

interface Expectations {
  /** Whether to test that scripts are allowed. */
  readonly tryScripts: boolean;
  /** Whether a replica is rejected. */
  readonly mustBeMaster: boolean;
}

/** Properties of the server that `open` has detected. */
interface Greeting {
  readonly takesScripts: boolean;
  /** A password was sent, but the server does not require one. */
  readonly passwordUnasked: boolean;
}

/**
 * One connection, from opening to closing.
 *
 * Authentication, the choice of the database and reconnecting are not left to ioredis. It would print warnings to the
 * console instead of our log, continue with database 0 if the server rejects the configured one, and send commands on a
 * new connection that was not checked.
 */
export class RedisConnection {
  /** Resolves with the reason when the connection is closed. */
  readonly closed: Promise<string>;
  readonly #redis: Redis;
  readonly #endpoint: RedisEndpoint;
  readonly #timeoutMs: number;
  /** ioredis only reports that a connection was closed. The reason is in the event before. */
  #reason = CLOSED;
  /** Whether the server has answered. Until then, a failure may be due to TLS. */
  #answered = false;
  #closedByScript = false;

  constructor({ endpoint, timeoutMs }: ConnectionOptions) {
    this.#endpoint = endpoint;
    this.#timeoutMs = timeoutMs;
    this.#redis = new Redis(clientOptions(endpoint, timeoutMs));
    readDirectly(this.#redis);
    this.#redis.on('error', (failure: unknown) => this.#failed(asError(failure).message));
    this.closed = new Promise(resolve => this.#redis.once('end', () => resolve(this.#reason)));
  }

  /** True if the server closed the connection at the first script. Some proxies do that if they cannot route a command. */
  get closedByScript(): boolean {
    return this.#closedByScript;
  }

  /**
   * Connects, authenticates, selects the database and sends a PING.
   * @throws Error with the reason if a step fails, or if the server is a replica and must be the master; the connection is
   *   then closed
   */
  async open({ tryScripts, mustBeMaster }: Expectations): Promise<Greeting> {
    try {
      await this.#connect();
      const passwordUnasked = await this.#authenticate();
      if (this.#endpoint.database !== 0) await this.send('SELECT', [this.#endpoint.database]);
      const reply = await this.send('PING', []);
      if (reply !== 'PONG')
        throw new Error(`unexpected reply to PING: ${shownReply(reply)}; this is not a Redis server`);
      this.#answered = true;
      if (mustBeMaster) await this.#assertMaster();
      return { takesScripts: tryScripts && (await this.#takesScripts()), passwordUnasked };
    } catch (failure) {
      this.close();
      throw failure instanceof RedisReplyError ? this.#withAdvice(failure) : failure;
    }
  }

  #withAdvice({ message }: RedisReplyError): RedisReplyError {
    const { credentialsAdvice = '' } = this.#endpoint;
    return new RedisReplyError(
      credentialsAdvice === '' ? message : explainCredentials(message, credentialsAdvice),
    );
  }

  /**
   * Sends one command.
   * @throws RedisReplyError for an error reply, CommandTimeout, or Error if the connection is closed
   */
  async send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.#redis.sendCommand(new Command(command, [...args], { replyEncoding: 'utf8' }));
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /**
   * Sends encoded commands. Returns the reply to each: texts as buffers, an error reply as a {@link RedisReplyError}.
   * @throws as `send`, except for error replies
   */
  exchange(bytes: Buffer, commands: number): Promise<unknown[]> {
    if (commands === 0) return Promise.resolve([]);
    const { stream, status } = this.#redis;
    if (status !== 'ready' || !stream.writable) return Promise.reject(new Error(this.#reason));
    const parts = { commands, timeoutMs: this.#timeoutMs, failureOf: this.#failureOf };
    return exchange(this.#redis, bytes, parts);
  }

  /**
   * Subscribes to a channel. Redis then accepts only a few other commands on the connection.
   * @throws as `send`
   */
  async subscribe(channel: string, take: (message: Buffer) => void): Promise<void> {
    this.#redis.on('messageBuffer', (_channel: Buffer, message: Buffer) => take(message));
    try {
      await this.#redis.subscribe(channel);
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /** Closes the connection. `closed` resolves within 100 ms. */
  close(): void {
    // Closing a closed connection would delay the exit of the process.
    if (this.#redis.status !== 'end') this.#redis.disconnect();
  }

  #failed(message: string): void {
    const isUnexpected = message.startsWith(IOREDIS_TEXT.unexpectedReply);
    this.#reason = isUnexpected ? 'it sent a reply without a command' : this.#explained(message);
    // ioredis continues, but later replies would be assigned to the wrong commands.
    if (isUnexpected) this.close();
  }

  async #connect(): Promise<void> {
    try {
      await this.#redis.connect();
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /** Sends the credentials. Returns true if the server has no password. */
  async #authenticate(): Promise<boolean> {
    const { authFile } = this.#endpoint;
    const { username, password } = authFile === null ? this.#endpoint : await authFile.read();
    if (username === '' && password === '') return false;
    try {
      await this.send('AUTH', username === '' ? [password] : [username, password]);
      return false;
    } catch (failure) {
      if (!(failure instanceof RedisReplyError)) throw failure;
      if (isUnaskedPassword(failure)) return true;
      throw new RedisReplyError(withoutSecrets(failure.message, [password, username]));
    }
  }

  /**
   * Runs a script without keys. A proxy that distributes keys over several servers rejects it, because no key says where
   * to run it. Such a proxy might accept a script with keys, and run it on the wrong server for all keys but the first.
   */
  async #takesScripts(): Promise<boolean> {
    try {
      let reply = await this.#countNothing(INCREMENT.byDigest);
      if (reply instanceof RedisReplyError && isUnknownScript(reply)) {
        reply = await this.#countNothing(INCREMENT.byText);
      }
      if (!(reply instanceof RedisReplyError)) return true;
      if (refusesScripts(reply)) return false;
      throw reply;
    } catch (failure) {
      this.#closedByScript = !(failure instanceof RedisReplyError || failure instanceof CommandTimeout);
      throw failure;
    }
  }

  async #countNothing(script: Uint8Array): Promise<unknown> {
    const writer = new CommandWriter();
    writer.command(3);
    writer.encoded(script);
    writer.number(0);
    const [reply] = await this.exchange(writer.take(), 1);
    return reply;
  }

  /** Isolated sentinels may name a former master. Without the permission for ROLE, this is not checked. */
  async #assertMaster(): Promise<void> {
    const reply = await this.send('ROLE', []).catch((failure: unknown) => {
      if (failure instanceof RedisReplyError) return 'master';
      throw failure;
    });
    const role: unknown = Array.isArray(reply) ? reply[0] : reply;
    if (role !== 'master') throw new Error(`it is not a master; its role is ${shownReply(role)}`);
  }

  /** Errors of ioredis contain the whole command, and therefore passwords and keys. Only the texts are passed on. */
  readonly #failureOf = (failure: unknown): Error => {
    const { message } = asError(failure);
    if (failure instanceof ReplyError) return new RedisReplyError(message);
    if (message === IOREDIS_TEXT.commandTimeout) return new CommandTimeout(message);
    const reason = message === IOREDIS_TEXT.connectionClosed ? this.#reason : message;
    return new Error(this.#explained(reason));
  };

  #explained(reason: string): string {
    const { tls } = this.#endpoint;
    // Both the event and the command that fails with it have the reason.
    const isExplained = reason === this.#reason && reason !== CLOSED;
    return tls === null || this.#answered || isExplained ? reason : tls.explain(reason);
  }
}

function clientOptions(endpoint: RedisEndpoint, timeoutMs: number): Omit<RedisOptions, 'replyMapping'> {
  const tls = endpoint.tls?.options ?? null;
  return {
    ...endpoint.target,
    ...(tls !== null && { tls: tlsOptions(tls, endpoint.target) }),
    connectTimeout: timeoutMs > 0 ? timeoutMs : MAX_TIMER_MS,
    commandTimeout: timeoutMs > 0 ? timeoutMs : undefined,
    lazyConnect: true,
    // Proxies and old servers do not support HELLO and CLIENT SETINFO, and INFO may be forbidden.
    protocol: 2,
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...UNTYPED_OPTIONS,
  };
}

function shownReply(reply: unknown): string {
  return typeof reply === 'string' ? `\`${reply.slice(0, 50)}\`` : 'something else';
}

/**
 * Maximum time for closing a connection, in ms. The types of ioredis lack this option. Its default of two seconds, which
 * also applies to a closed connection, would delay the exit of the process.
 */
const UNTYPED_OPTIONS = { disconnectTimeout: 100 };

/** The maximum delay of a timer; used for "no timeout". */
const MAX_TIMER_MS = 2_147_483_647;

/** A server that does not reply within this time is skipped, because another one probably replies. */
const MAX_WAIT_MS = 2_000;

/** Short connections for single requests to a sentinel or a cluster node. */
export class SideConnections {
  readonly #boundMs: number;
  readonly #open = new Set<RedisConnection>();
  #stopped = false;

  /** @param timeoutMs timeout of connecting and of each command; 0 for none */
  constructor(timeoutMs: number) {
    this.#boundMs = timeoutMs > 0 ? Math.min(timeoutMs, MAX_WAIT_MS) : MAX_WAIT_MS;
  }

  /** @throws Error if the connection fails, and what `ask` throws */
  async use<T>(endpoint: RedisEndpoint, ask: (connection: RedisConnection) => Promise<T>): Promise<T> {
    if (this.#stopped) throw new Error('the service is shutting down');
    const connection = new RedisConnection({ endpoint, timeoutMs: this.#boundMs });
    this.#open.add(connection);
    try {
      await connection.open({ tryScripts: false, mustBeMaster: false });
      return await ask(connection);
    } finally {
      connection.close();
      await connection.closed;
      this.#open.delete(connection);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const connection of this.#open) connection.close();
    await Promise.all([...this.#open].map(connection => connection.closed));
  }
}

/**
 * Lets a client read replies as they arrive. ioredis adds its listener for data with `prependListener`, which Node.js does
 * not notice from release 22 on: its streams then keep each reply in their buffer until the next tick, and read it from
 * there, which costs 3 µs. Clients with `socketTimeout`, for which ioredis adds another listener, do not need it.
 */
export function readDirectly(redis: Redis): void {
  redis.on('connect', () => {
    const { stream } = redis;
    stream.on('data', ignore);
    stream.off('data', ignore);
  });
}

function ignore(): void {}
