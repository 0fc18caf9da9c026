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

/** What every connection to one instance of Redis has in common. */
export interface RedisLinkParts {
  /** Bound of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly startup: StartBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1; spreads the waits. */
  readonly random: () => number;
  readonly connections: ConnectionCount;
  /** Of this instance; its parts are servers, by their addresses. */
  readonly outage: Outage;
}

/** Who uses a link hears what becomes of it. */
interface LinkListener {
  up(link: RedisLink): void;
  down(link: RedisLink): void;
  /**
   * An attempt to connect failed, or takes long; `reason` of the link says why.
   * @param inARow how many have failed since there was a connection
   */
  failed(link: RedisLink, inARow: number, atStart: boolean): void;
}

/** Where a link leads to. */
export interface RedisTarget {
  /** How log lines and errors name it: without credentials. */
  readonly address: string;
  /** Where it is now: asked before each attempt to connect. */
  readonly find: () => Promise<RedisEndpoint>;
  /** Whether a replica is refused, since who said where the master is may be wrong. */
  readonly mustBeMaster: boolean;
  /** Whether it is asked to run scripts. */
  readonly scripts: boolean;
}

/** Waits between attempts once the link has been up: an outage should end soon after Redis is back. */
const RECONNECT: BackoffBounds = { initialMs: 125, maxMs: 4_000 };

/** An attempt that takes longer counts as failed meanwhile: without a timeout it may take for ever. */
const PATIENCE_MS = 5_000;

/**
 * Keeps one connection to one Redis server.
 *
 * Commands are sent only while it is up, and never a second time: an increment whose answer is lost may have been
 * counted, and sending it again would count it twice. So a command fails at once while Redis is away.
 */
export class RedisLink {
  readonly address: string;
  readonly #target: RedisTarget;
  readonly #parts: RedisLinkParts;
  readonly #on: LinkListener;
  /** The connection that is up. */
  #connection: RedisConnection | null = null;
  #endpoint: RedisEndpoint | null = null;
  /** Every connection that is not closed yet. */
  readonly #unclosed = new Set<RedisConnection>();
  #takesScripts = true;
  /** Attempts in a row that ended with the first script. */
  #closedByScript = 0;
  #stopped = false;
  /** Until the first connection of a start that waits for it. */
  #starting = false;
  #failedInARow = 0;
  /** Why the link is down. */
  #reason = 'it was not started';
  #upSinceMs = 0;
  /** Attempts since a connection was last up for long. */
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

  /** The server that it is, or was last, connected to. */
  get endpoint(): RedisEndpoint | null {
    return this.#endpoint;
  }

  /** False when Redis, or a proxy before it, refuses scripts. */
  get takesScripts(): boolean {
    return this.#takesScripts;
  }

  /**
   * Connects, again and again until Redis answers as it should.
   * @throws Error when the time for it is over or the link was stopped; the text names the address and the last cause
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

  /** Connects. Resolves after the first attempt; when that failed, further ones follow. */
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
   * @throws RedisReplyError when Redis answers an error
   * @throws Fault `store_failed` when the link is down or the answer does not come (in time)
   */
  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#asking(connection => connection.send(command, args));
  }

  /**
   * Sends commands that are encoded already, and returns what Redis answered to each: a text as a buffer, an error as a
   * `RedisReplyError`.
   * @throws Fault `store_failed` as `send`
   */
  exchange(bytes: Buffer, commands: number): Promise<unknown[]> {
    return this.#asking(connection => connection.exchange(bytes, commands));
  }

  /** Gives the connection up and makes a new one, because of what Redis answered on it. */
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
    const notice = clock.after(PATIENCE_MS, () => {
      this.#reason = noAnswerWithin(PATIENCE_MS);
      this.#attemptFailed();
    });
    try {
      const endpoint = await this.#target.find();
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
      // Two connections that a script closed are followed by one without, since once can be chance; after that one
      // they are tried again.
      this.#closedByScript = connection?.closedByScript === true ? this.#closedByScript + 1 : 0;
      notice.cancel();
    }
  }

  /** A failure that lies with the server or the way to it. */
  fault(problem: string): Fault {
    return new Fault('store_failed', `Redis at ${this.address}: ${problem}`);
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
        // A late answer would have to be waited for before any new one: a new connection starts clean.
        if (failure instanceof CommandTimeout) this.renew(message);
        // It may take a while to close, and nobody else should be lent it meanwhile.
        else this.#lost(connection, message);
      }
      throw this.fault(message);
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
    // A Redis that takes connections and fails right after is not asked for them without pause.
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

/** What every question is answered with while Redis is away. */
export function notConnected(address: string, reason: string): Fault {
  return new Fault('store_failed', `Redis at ${address} is not connected: ${reason}`);
}

const PASSWORD_UNASKED = 'Redis does not ask for a password; the configured one is not used';

const NO_SCRIPTS =
  'Redis does not run scripts for this user; counting with single commands. ' +
  'STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT and refunds are not atomic, and the local caches of other instances do not ' +
  'learn of refunds';

interface ConnectionCounters {
  /** Connections that came up. */
  readonly opened: Counter;
  /** Those of them that ended, for whatever reason. */
  readonly closed: Counter;
}

/** The connections of one instance of Redis: all of its pool, to all of its nodes. */
export class ConnectionCount {
  readonly #counters: ConnectionCounters;
  readonly #onChange: (connected: boolean) => void;
  #active = 0;

  /** @param onChange told when the first connection comes up and when the last one ends */
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
