import { Command, Redis, type RedisOptions, ReplyError } from 'ioredis';
import { asError } from '../../../base/fault.ts';
import { type RedisEndpoint, tlsOptions } from '../../../clients/redis/address.ts';
import {
  CommandTimeout,
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

export interface ConnectionOptions {
  readonly endpoint: RedisEndpoint;
  /** Bound of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
}

export interface Expectations {
  /** Whether to find out that scripts are taken. */
  readonly tryScripts: boolean;
  /** Whether a replica is refused. */
  readonly mustBeMaster: boolean;
}

/** What a Redis that was just connected to is like. */
interface Greeting {
  readonly takesScripts: boolean;
  /** A password was sent that nobody asks for. */
  readonly passwordUnasked: boolean;
}

/**
 * One connection, from its opening to its close.
 *
 * The client library neither authenticates, nor chooses the database, nor connects again: it would print warnings past
 * our log, take a database that was refused for database 0, and send the rest of it on a connection we did not check.
 */
export class RedisConnection {
  /** Resolves when it is closed, with the reason. */
  readonly closed: Promise<string>;
  readonly #redis: Redis;
  readonly #endpoint: RedisEndpoint;
  readonly #timeoutMs: number;
  /** The client library says only that a connection was closed; why is in the event before. */
  #reason = 'the connection was closed';
  #closedByScript = false;

  constructor({ endpoint, timeoutMs }: ConnectionOptions) {
    this.#endpoint = endpoint;
    this.#timeoutMs = timeoutMs;
    this.#redis = new Redis(clientOptions(endpoint, timeoutMs));
    this.#redis.on('error', (failure: unknown) => this.#failed(asError(failure).message));
    this.closed = new Promise(resolve => this.#redis.once('end', () => resolve(this.#reason)));
  }

  /** True when it was closed instead of answering the first script: some proxies do that with what they cannot route. */
  get closedByScript(): boolean {
    return this.#closedByScript;
  }

  /**
   * Connects, and asks for a PONG as the user and in the database that were set.
   * @throws Error with the reason when that fails, also when a replica answers where the master must; the connection is
   *   closed then
   */
  async open({ tryScripts, mustBeMaster }: Expectations): Promise<Greeting> {
    try {
      await this.#connect();
      const passwordUnasked = await this.#authenticate();
      if (this.#endpoint.database !== 0) await this.send('SELECT', [this.#endpoint.database]);
      const reply = await this.send('PING', []);
      if (reply !== 'PONG') throw new Error(`PING was answered with ${shownReply(reply)}: this is no Redis`);
      if (mustBeMaster) await this.#assertMaster();
      return { takesScripts: tryScripts && (await this.#takesScripts()), passwordUnasked };
    } catch (failure) {
      this.close();
      throw failure;
    }
  }

  /**
   * Sends one command.
   * @throws RedisReplyError when Redis answers an error, CommandTimeout, or Error when the connection is closed
   */
  async send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.#redis.sendCommand(new Command(command, [...args], { replyEncoding: 'utf8' }));
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /**
   * Sends commands that are encoded already. What Redis answered to each: texts as buffers, an error of Redis as a
   * {@link RedisReplyError}.
   * @throws as `send` does, except for errors of Redis
   */
  exchange(bytes: Buffer, commands: number): Promise<unknown[]> {
    if (commands === 0) return Promise.resolve([]);
    const { stream, status } = this.#redis;
    if (status !== 'ready' || !stream.writable) return Promise.reject(new Error(this.#reason));
    const parts = { commands, timeoutMs: this.#timeoutMs, failureOf: this.#failureOf };
    return exchange(this.#redis, bytes, parts);
  }

  /**
   * Hands over what is published on a channel from now on. Few other commands are taken on the connection then.
   * @throws as `send` does
   */
  async subscribe(channel: string, take: (message: Buffer) => void): Promise<void> {
    this.#redis.on('messageBuffer', (_channel: Buffer, message: Buffer) => take(message));
    try {
      await this.#redis.subscribe(channel);
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /** Closes it; `closed` follows within a tenth of a second. */
  close(): void {
    // Closing what is closed would hold up the end of the process.
    if (this.#redis.status !== 'end') this.#redis.disconnect();
  }

  #failed(message: string): void {
    const isUnasked = message.startsWith(IOREDIS_TEXT.unexpectedReply);
    this.#reason = isUnasked ? 'it answered what it was not asked' : this.#explained(message);
    // The answers that follow would be taken for those to other commands, and the client library goes on.
    if (isUnasked) this.close();
  }

  async #connect(): Promise<void> {
    try {
      await this.#redis.connect();
    } catch (failure) {
      throw this.#failureOf(failure);
    }
  }

  /** Says who we are; true when nobody asked. */
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
   * Counts no keys by a script. A proxy that spreads keys over servers cannot know where to run that, so it refuses,
   * although it might run a script with keys, on the wrong server for all keys but the first.
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

  /** Sentinels that were cut off name a master that is none any more. Who may not ask for the role believes them. */
  async #assertMaster(): Promise<void> {
    const reply = await this.send('ROLE', []).catch((failure: unknown) => {
      if (failure instanceof RedisReplyError) return 'master';
      throw failure;
    });
    const role: unknown = Array.isArray(reply) ? reply[0] : reply;
    if (role !== 'master') throw new Error(`it is no master but says ${shownReply(role)}`);
  }

  /** Errors of the client library carry the whole command, and so the password and every key: only texts are passed on. */
  readonly #failureOf = (failure: unknown): Error => {
    const { message } = asError(failure);
    if (failure instanceof ReplyError) return new RedisReplyError(message);
    if (message === IOREDIS_TEXT.commandTimeout) return new CommandTimeout(message);
    return new Error(message === IOREDIS_TEXT.connectionClosed ? this.#reason : this.#explained(message));
  };

  #explained(reason: string): string {
    return this.#endpoint.tls?.explain(reason) ?? reason;
  }
}

function clientOptions(endpoint: RedisEndpoint, timeoutMs: number): Omit<RedisOptions, 'replyMapping'> {
  return {
    ...endpoint.target,
    ...(endpoint.tls !== null && {
      tls: tlsOptions(endpoint.tls.options, endpoint.target),
    }),
    connectTimeout: timeoutMs > 0 ? timeoutMs : MAX_TIMER_MS,
    commandTimeout: timeoutMs > 0 ? timeoutMs : undefined,
    lazyConnect: true,
    // Proxies and old servers know neither HELLO nor CLIENT SETINFO, and INFO may be forbidden.
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
 * The library's types leave out how long a connection may take to close, also one that is closed already. Its default
 * of two seconds would hold up the end of the process.
 */
const UNTYPED_OPTIONS = { disconnectTimeout: 100 };

/** The longest delay that a timer takes; stands for "no bound". */
const MAX_TIMER_MS = 2_147_483_647;

/** A server that does not answer is passed over after this time, as another one is likely to. */
const MAX_WAIT_MS = 2_000;

/** Connections that are made for a question to a sentinel or a node of a cluster, and closed after it. */
export class SideConnections {
  readonly #boundMs: number;
  readonly #open = new Set<RedisConnection>();
  #stopped = false;

  /** @param timeoutMs bound of connecting and of each command; 0 for none */
  constructor(timeoutMs: number) {
    this.#boundMs = timeoutMs > 0 ? Math.min(timeoutMs, MAX_WAIT_MS) : MAX_WAIT_MS;
  }

  /** @throws Error when the server cannot be asked, and what `ask` throws */
  async use<T>(endpoint: RedisEndpoint, ask: (connection: RedisConnection) => Promise<T>): Promise<T> {
    if (this.#stopped) throw new Error('the service stops');
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
