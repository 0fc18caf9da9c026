import { type BackoffBounds, backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError, Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Outage } from '../../../base/outage-log.ts';
import type { RedisEndpoint } from '../../../clients/redis/address.ts';
import { CommandTimeout, noAnswerWithin, RedisReplyError } from '../../../clients/redis/errors.ts';
import type { Counter } from '../../../stats/registry.ts';
import { RedisConnection } from './connection.ts';
import { type StartBounds, startPatiently, Waits } from './waits.ts';

/** Parts that all connections to one Redis instance share. */
export interface RedisLinkParts {
  /** Timeout of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly startup: StartBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A random number from 0 to below 1, for jitter of the delays. */
  readonly random: () => number;
  readonly connections: ConnectionCount;
  /** The outages of this instance. Its parts are servers, by address. */
  readonly outage: Outage;
}

/** Receives the changes of state of a link. */
interface LinkListener {
  up(link: RedisLink): void;
  down(link: RedisLink): void;
  /**
   * An attempt to connect failed or takes long. The reason is `link.reason`.
   * @param inARow number of failed attempts since the last connection
   */
  failed(link: RedisLink, inARow: number, atStart: boolean): void;
}

/** The server of a link. */
export interface RedisTarget {
  /** The server as log lines and errors name it, without credentials. */
  readonly address: string;
  /** Finds the current endpoint. Called before each attempt to connect. */
  readonly find: () => Promise<RedisEndpoint>;
  /** Whether a replica is rejected, because the source of the address may be wrong. */
  readonly mustBeMaster: boolean;
  /** Whether scripts are sent to it. */
  readonly scripts: boolean;
}

/** Delays between attempts to reconnect. They are short, so that an outage ends soon after Redis is available again. */
const RECONNECT: BackoffBounds = { initialMs: 125, maxMs: 4_000 };

/** An attempt that takes longer is reported as failed while it continues. Without a timeout it may take forever. */
const PATIENCE_MS = 5_000;

/**
 * Keeps one connection to one Redis server, and reconnects when it is lost.
 *
 * Commands are sent only while the connection is up, and never twice: an increment whose reply is lost may have been
 * counted, so sending it again could count it twice. While Redis is unavailable, commands fail immediately.
 */
export class RedisLink {
  readonly address: string;
  readonly #target: RedisTarget;
  readonly #parts: RedisLinkParts;
  readonly #on: LinkListener;
  /** The connection that is up; null while none is. */
  #connection: RedisConnection | null = null;
  #endpoint: RedisEndpoint | null = null;
  /** All connections that are not closed yet. */
  readonly #unclosed = new Set<RedisConnection>();
  #takesScripts = true;
  /** Number of successive attempts in which the first script closed the connection. */
  #closedByScript = 0;
  #stopped = false;
  /** True until `start` has its first connection. */
  #starting = false;
  #failedInARow = 0;
  /** Why the link is down. */
  #reason = 'it was not started';
  #upSinceMs = 0;
  /** Number of attempts since a connection was last up for long. */
  #attempts = 0;
  readonly #warned = new Set<string>();
  readonly #waits: Waits;

  constructor(target: RedisTarget, parts: RedisLinkParts, on: LinkListener) {
    this.#target = target;
    this.#parts = parts;
    this.#on = on;
    this.address = target.address;
    this.#waits = new Waits(parts.clock);
  }

  /** True while commands can be sent. */
  get up(): boolean {
    return this.#connection !== null;
  }

  /** The server of the current or last connection. */
  get endpoint(): RedisEndpoint | null {
    return this.#endpoint;
  }

  /** False if Redis, or a proxy in front of it, rejects scripts. */
  get takesScripts(): boolean {
    return this.#takesScripts;
  }

  /**
   * Connects, and retries until it succeeds.
   * @throws Error after the startup timeout, or if the link was stopped; the text names the address and the last cause
   */
  start(): Promise<void> {
    const { startup: bounds, clock, random } = this.#parts;
    const isStopped = () => this.#stopped;
    const failed = () => this.#attemptFailed();
    this.#starting = true;
    const waits = this.#waits;
    return startPatiently({ address: this.address, bounds, clock, random, waits, isStopped, failed }, () =>
      this.connect(),
    );
  }

  /** Connects. Resolves after the first attempt; if it failed, further ones follow. */
  async begin(): Promise<void> {
    try {
      await this.connect();
    } catch {
      if (this.#stopped) return;
      this.#attemptFailed();
      void this.#reconnect();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waits.cancelAll();
    for (const connection of this.#unclosed) connection.close();
    await Promise.all([...this.#unclosed].map(connection => connection.closed));
  }

  /**
   * Sends one command.
   * @throws RedisReplyError for an error reply
   * @throws Fault `store_failed` if the link is down or the reply does not come in time
   */
  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#asking(connection => connection.send(command, args));
  }

  /**
   * Sends encoded commands. Returns the reply to each: texts as buffers, an error reply as a `RedisReplyError`.
   * @throws Fault `store_failed` as `send`
   */
  exchange(bytes: Buffer, commands: number): Promise<unknown[]> {
    return this.#asking(connection => connection.exchange(bytes, commands));
  }

  /**
   * Sends one command beside those that count. If there is no reply, the connection is kept: calls that wait on it have
   * their own timeout.
   * @throws as `send`, and CommandTimeout or Error if the reply does not come
   */
  async sendBeside(command: string, args: readonly string[]): Promise<unknown> {
    if (this.#connection === null) throw notConnected(this.address, this.#reason);
    return await this.#connection.send(command, args);
  }

  /** Closes the connection and opens a new one, because of a reply of Redis. */
  renew(reason: string): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#parts.logger.info('Closing a Redis connection; reconnecting', { address: this.address, reason });
    this.#leave(connection, reason);
  }

  /** Makes one attempt to connect. */
  async connect(): Promise<void> {
    const { timeoutMs, clock } = this.#parts;
    let connection: RedisConnection | null = null;
    let endpoint: RedisEndpoint | null = null;
    const notice = clock.after(PATIENCE_MS, () => {
      const reason = noAnswerWithin(PATIENCE_MS);
      this.#reason = endpoint?.tls?.explain(reason) ?? reason;
      this.#attemptFailed();
    });
    try {
      endpoint = await this.#target.find();
      if (this.#stopped) throw new Error('the connection was closed');
      connection = new RedisConnection({ endpoint, timeoutMs });
      this.#watch(connection);
      const { scripts, mustBeMaster } = this.#target;
      const greeting = await connection.open({
        tryScripts: scripts && this.#closedByScript < 2,
        mustBeMaster,
      });
      if (this.#stopped || !this.#unclosed.has(connection)) throw new Error('the connection was closed');
      this.#takesScripts = greeting.takesScripts;
      if (greeting.passwordUnasked) this.#warnOnce(PASSWORD_UNASKED);
      if (scripts && !greeting.takesScripts) this.#warnOnce(NO_SCRIPTS);
      this.#connected(connection, endpoint);
    } catch (failure) {
      this.#reason = asError(failure).message;
      throw failure;
    } finally {
      // If the first script closes two connections in a row (one may be chance), the next connection is made without
      // scripts. The one after that tries scripts again.
      this.#closedByScript = connection?.closedByScript === true ? this.#closedByScript + 1 : 0;
      notice.cancel();
    }
  }

  /** A fault of the server or of the connection to it. */
  fault(problem: string, cause?: unknown): Fault {
    return new Fault('store_failed', `Redis at ${this.address}: ${problem}`, { cause });
  }

  async #asking<T>(ask: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    if (connection === null) throw notConnected(this.address, this.#reason);
    try {
      return await ask(connection);
    } catch (failure) {
      if (failure instanceof RedisReplyError) throw failure;
      const { message } = asError(failure);
      if (this.#connection === connection) {
        // On this connection, all later replies would have to wait for the missing one.
        if (failure instanceof CommandTimeout) this.renew(message);
        // Closing may take a while, and the connection must not be lent meanwhile.
        else this.#lost(connection, message);
      }
      throw this.fault(message, failure);
    }
  }

  #watch(connection: RedisConnection): void {
    this.#unclosed.add(connection);
    void connection.closed.then(reason => this.#closed(connection, reason));
  }

  #connected(connection: RedisConnection, endpoint: RedisEndpoint): void {
    const { clock, logger, connections } = this.#parts;
    this.#starting = false;
    this.#failedInARow = 0;
    this.#connection = connection;
    this.#endpoint = endpoint;
    this.#upSinceMs = clock.nowMs();
    connections.opened();
    const found = endpoint.shown === this.address ? {} : { server: endpoint.shown };
    logger.info('Connected to Redis', { address: this.address, ...found });
    this.#on.up(this);
  }

  #closed(connection: RedisConnection, reason: string): void {
    this.#unclosed.delete(connection);
    if (this.#connection === connection) this.#lost(connection, reason);
  }

  #lost(connection: RedisConnection, reason: string): void {
    if (!this.#stopped) {
      this.#parts.logger.info('Redis connection lost; reconnecting', { address: this.address, reason });
    }
    this.#leave(connection, reason);
  }

  #leave(connection: RedisConnection, reason: string): void {
    const { clock, connections } = this.#parts;
    this.#connection = null;
    this.#reason = reason;
    connections.closed();
    connection.close();
    this.#on.down(this);
    // If Redis accepts connections and fails right afterwards, the delays continue to grow.
    if (Math.abs(clock.nowMs() - this.#upSinceMs) >= RECONNECT.maxMs) this.#attempts = 0;
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { random } = this.#parts;
    while (!this.#stopped) {
      await this.#waits.wait(backoffMs(RECONNECT, this.#attempts++, random));
      if (this.#stopped) return;
      try {
        return await this.connect();
      } catch {
        if (this.#stopped) return;
        this.#attemptFailed();
      }
    }
  }

  #attemptFailed(): void {
    this.#parts.logger.debug('Redis connection failed', { address: this.address, error: this.#reason });
    this.#on.failed(this, ++this.#failedInARow, this.#starting);
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#parts.logger.warning(message, { address: this.address });
  }

  /** Why it is down. */
  get reason(): string {
    return this.#reason;
  }
}

/** The fault of every command while Redis is unavailable. */
export function notConnected(address: string, reason: string): Fault {
  return new Fault('store_failed', `Redis at ${address} is not connected: ${reason}`);
}

const PASSWORD_UNASKED = 'Redis does not ask for a password; the configured one is not used';

const NO_SCRIPTS =
  'Redis does not run scripts for this user; counting with single commands. ' +
  'STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT and refunds are not atomic, and the local caches of other instances do not ' +
  'receive refunds';

interface ConnectionCounters {
  /** Connections that were opened. */
  readonly opened: Counter;
  /** Connections that were closed or lost. */
  readonly closed: Counter;
}

/** Counts the connections to one instance of Redis, over all its nodes. */
export class ConnectionCount {
  readonly #counters: ConnectionCounters;
  readonly #onChange: (connected: boolean) => void;
  #active = 0;

  /** @param onChange called when the first connection is opened and when the last one is closed */
  constructor(counters: ConnectionCounters, onChange: (connected: boolean) => void = () => {}) {
    this.#counters = counters;
    this.#onChange = onChange;
  }

  get active(): number {
    return this.#active;
  }

  opened(): void {
    this.#counters.opened.add(1);
    if (++this.#active === 1) this.#onChange(true);
  }

  closed(): void {
    this.#counters.closed.add(1);
    if (--this.#active === 0) this.#onChange(false);
  }
}
