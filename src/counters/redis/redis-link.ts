import { type BackoffBounds, backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError, Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import { CommandTimeout, RedisConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { FailureLog } from './failure-log.ts';
import { RedisReplyError } from './reply-error.ts';
import type { CommandArguments } from './run-script.ts';

export interface RedisLinkOptions {
  readonly endpoint: RedisEndpoint;
  /** Bound of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  /** Waits between attempts to connect at start, and the time after which they end (0: never). */
  readonly startup: BackoffBounds & { readonly maxElapsedMs: number };
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1; spreads the waits. */
  readonly random: () => number;
  /** Connections that came up, and those of them that ended, for whatever reason. */
  readonly connections: { readonly opened: Counter; readonly closed: Counter };
}

/** Waits between attempts once the link has been up: an outage should end soon after Redis is back. */
const RECONNECT: BackoffBounds = { initialMs: 125, maxMs: 4_000 };

/** An attempt that takes longer is told in the log: without a time-out it may take for ever. */
const PATIENCE_MS = 5_000;

/**
 * Keeps one connection to one Redis server.
 *
 * Commands are sent only while it is up, and never a second time: an increment whose answer is lost may have been
 * counted, and sending it again would count it twice. So a command fails at once while Redis is away.
 */
export class RedisLink {
  readonly address: string;
  readonly #options: RedisLinkOptions;
  /** The connection that is up. */
  #connection: RedisConnection | null = null;
  /** Every connection that is not closed yet. */
  readonly #unclosed = new Set<RedisConnection>();
  #takesScripts = true;
  #tryScripts = true;
  #stopped = false;
  /** Why the link is down. */
  #reason = 'it was not started';
  #upSinceMs = 0;
  /** Attempts since a connection was last up for long. */
  #attempts = 0;
  readonly #failures: FailureLog;
  readonly #warned = new Set<string>();
  #wait: { timer: Timer; cancel: () => void } | null = null;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.address = options.endpoint.shown;
    this.#failures = new FailureLog(options.clock, (reason, times) =>
      options.logger.warning('cannot connect to Redis again', { address: this.address, reason, times }),
    );
  }

  /** True while commands can be sent. */
  get up(): boolean {
    return this.#connection !== null;
  }

  /** False when Redis, or a proxy before it, refuses scripts. */
  get takesScripts(): boolean {
    return this.#takesScripts;
  }

  /**
   * Connects, again and again until Redis answers as it should.
   * @throws Error when the time for it is over or the link was stopped; the text names the address and the last cause
   */
  async start(): Promise<void> {
    const { startup, clock, logger, random } = this.#options;
    const beganMs = clock.nowMs();
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        return await this.#open();
      } catch (failure) {
        if (this.#stopped) break;
        this.#reason = asError(failure).message;
        const elapsedMs = clock.nowMs() - beganMs;
        if (startup.maxElapsedMs > 0 && elapsedMs >= startup.maxElapsedMs) {
          throw new Error(
            `Redis at ${this.address} did not answer for ${elapsedMs} ms (the bound is ${startup.maxElapsedMs} ms): ` +
              this.#reason,
          );
        }
        const waitMs = backoffMs(startup, attempt, random);
        logger.error('cannot connect to Redis', {
          address: this.address,
          error: this.#reason,
          retryInMs: Math.round(waitMs),
        });
        await this.#pause(waitMs);
      }
    }
    throw new Error(`connecting to Redis at ${this.address} was given up because the service stops`);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wait?.cancel();
    for (const connection of this.#unclosed) connection.close();
    await Promise.all([...this.#unclosed].map(connection => connection.closed));
  }

  /**
   * Sends one command.
   * @throws RedisReplyError when Redis answers an error
   * @throws Fault `store_failed` when the link is down or the answer does not come (in time)
   */
  readonly send = (command: string, args: CommandArguments): Promise<unknown> =>
    this.#asking(connection => connection.send(command, args));

  /**
   * Sends many commands at once. What Redis answered to each; an error of Redis is a `RedisReplyError` among them.
   * @throws Fault `store_failed` as `send`
   */
  sendAll(commands: readonly (readonly [string, ...CommandArguments])[]): Promise<unknown[]> {
    return this.#asking(connection => connection.sendAll(commands));
  }

  /** Gives the connection up and makes a new one, because of what Redis answered on it. */
  renew(reason: string): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#options.logger.warning('connecting to Redis anew', { address: this.address, reason });
    this.#leave(connection, reason);
  }

  async #asking<T>(ask: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    if (connection === null) {
      throw new Fault('store_failed', `Redis at ${this.address} is not connected: ${this.#reason}`);
    }
    try {
      return await ask(connection);
    } catch (failure) {
      if (failure instanceof RedisReplyError) throw failure;
      const { message } = asError(failure);
      // A late answer would have to be waited for before any new one: a new connection starts clean.
      if (failure instanceof CommandTimeout && this.#connection === connection) this.renew(message);
      throw new Fault('store_failed', `Redis at ${this.address}: ${message}`);
    }
  }

  async #open(): Promise<void> {
    const { endpoint, timeoutMs, clock, logger } = this.#options;
    const connection = new RedisConnection({ endpoint, timeoutMs });
    this.#unclosed.add(connection);
    void connection.closed.then(reason => this.#closed(connection, reason));
    const notice = clock.after(PATIENCE_MS, () =>
      logger.warning('Redis has not answered yet', { address: this.address, waitedMs: PATIENCE_MS }),
    );
    try {
      const greeting = await connection.open({ tryScripts: this.#tryScripts });
      if (this.#stopped || !this.#unclosed.has(connection)) throw new Error('the connection was closed');
      this.#takesScripts = greeting.takesScripts;
      if (greeting.passwordUnasked) this.#warnOnce(PASSWORD_UNASKED);
      if (!greeting.takesScripts) this.#warnOnce(NO_SCRIPTS);
      this.#connected(connection);
    } finally {
      // A connection that a script closed is followed by one without, and that by one that tries again.
      this.#tryScripts = !connection.closedByScript;
      notice.cancel();
    }
  }

  #connected(connection: RedisConnection): void {
    const { clock, logger, connections } = this.#options;
    this.#connection = connection;
    this.#upSinceMs = clock.nowMs();
    connections.opened.add(1);
    logger.info('connected to Redis', { address: this.address });
  }

  #closed(connection: RedisConnection, reason: string): void {
    this.#unclosed.delete(connection);
    if (this.#connection !== connection) return;
    if (!this.#stopped) {
      this.#options.logger.warning('lost the connection to Redis', { address: this.address, reason });
    }
    this.#leave(connection, reason);
  }

  #leave(connection: RedisConnection, reason: string): void {
    const { clock, connections } = this.#options;
    this.#connection = null;
    this.#reason = reason;
    connections.closed.add(1);
    connection.close();
    // A Redis that takes connections and fails right after is not asked for them without pause.
    if (Math.abs(clock.nowMs() - this.#upSinceMs) >= RECONNECT.maxMs) this.#attempts = 0;
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { logger, random } = this.#options;
    while (!this.#stopped) {
      await this.#pause(backoffMs(RECONNECT, this.#attempts++, random));
      if (this.#stopped) return;
      try {
        return await this.#open();
      } catch (failure) {
        if (this.#stopped) return;
        this.#reason = asError(failure).message;
        this.#failures.failed(this.#reason);
        logger.debug('Redis connection error', { address: this.address, error: this.#reason });
      }
    }
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.logger.warning(message, { address: this.address });
  }

  #pause(waitMs: number): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        this.#wait = null;
        resolve();
      };
      const timer = this.#options.clock.after(waitMs, done);
      this.#wait = {
        timer,
        cancel: () => {
          timer.cancel();
          done();
        },
      };
    });
  }
}

const PASSWORD_UNASKED = 'Redis asks for no password, and the one that is set was not used';

const NO_SCRIPTS =
  'Redis takes no scripts: hits are counted by single commands, so holding back is not atomic';
