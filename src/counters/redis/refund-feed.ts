import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { RedisConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { RedisReplyError, refusesScripts } from './reply-error.ts';
import { REFUNDS_CHANNEL } from './scripts.ts';
import { Waits } from './waits.ts';

/** A server at which the refunds of all processes can be heard. */
export interface FeedSource {
  /** How log lines name it: without credentials. */
  readonly address: string;
  /** Where it is now: asked before each attempt to connect. */
  readonly find: () => Promise<RedisEndpoint>;
  /** False when the counters are elsewhere by now than at this server. */
  readonly isCurrent: (shown: string) => boolean;
  /** Whether a replica is refused, since who said where the master is may be wrong. */
  readonly mustBeMaster: boolean;
}

/** What becomes of the news. */
export interface FeedListener {
  /** The count of a key was lowered. */
  readonly refunded: (key: Uint8Array) => void;
  /** Refunds may go unseen from now on, until `up`. */
  readonly down: () => void;
  readonly up: () => void;
}

export interface RefundFeedParts {
  /** Bound of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often the connection is asked for a PONG: one that leads nowhere must be found within about a second. */
const EVERY_MS = 500;
const MAX_TIMEOUT_MS = 1_000;
const RETRY_MS = 250;

/**
 * Hears, on a connection of its own, which counts refunds have lowered, in whatever process. Redis sends such news once
 * and keeps none: what was published while there was no connection is lost, so the listener is told of each gap.
 */
export class RefundFeed {
  readonly #source: FeedSource;
  readonly #parts: RefundFeedParts;
  readonly #listener: FeedListener;
  readonly #timeoutMs: number;
  readonly #waits: Waits;
  #connection: RedisConnection | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(source: FeedSource, parts: RefundFeedParts, listener: FeedListener) {
    this.#source = source;
    this.#parts = parts;
    this.#listener = listener;
    this.#timeoutMs = parts.timeoutMs > 0 ? Math.min(parts.timeoutMs, MAX_TIMEOUT_MS) : MAX_TIMEOUT_MS;
    this.#waits = new Waits(parts.clock);
  }

  /** Begins to connect, and goes on until `stop`. */
  start(): void {
    this.#listener.down();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waits.cancelAll();
    this.#connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { address } = this.#source;
    const { logger } = this.#parts;
    while (!this.#stopped) {
      try {
        await this.#follow();
      } catch (failure) {
        const { message } = asError(failure);
        if (failure instanceof RedisReplyError && refusesScripts(failure)) {
          logger.warning(REFUSED, { address, channel: REFUNDS_CHANNEL, error: message });
          this.#listener.up();
          return;
        }
        logger.debug('Refund notifications from Redis are interrupted; reconnecting', {
          address,
          error: message,
        });
      }
      if (!this.#stopped) await this.#waits.wait(RETRY_MS);
    }
  }

  /** Until the connection is lost, or leads to another server than the counters are at. */
  async #follow(): Promise<void> {
    const endpoint = await this.#source.find();
    if (this.#stopped) return;
    const connection = new RedisConnection({ endpoint, timeoutMs: this.#timeoutMs });
    this.#connection = connection;
    void connection.closed.then(() => this.#waits.cancelAll());
    try {
      await connection.open({ tryScripts: false, mustBeMaster: this.#source.mustBeMaster });
      await connection.subscribe(REFUNDS_CHANNEL, this.#listener.refunded);
      this.#listener.up();
      try {
        await this.#watch(connection, endpoint);
      } finally {
        this.#listener.down();
      }
    } finally {
      connection.close();
      await connection.closed;
    }
  }

  async #watch(connection: RedisConnection, endpoint: RedisEndpoint): Promise<void> {
    for (;;) {
      await this.#waits.wait(EVERY_MS);
      if (this.#stopped) return;
      if (!this.#source.isCurrent(endpoint.shown))
        throw new Error(`${endpoint.shown} is not in use any more`);
      await connection.send('PING', []);
    }
  }
}

const REFUSED =
  'Redis does not let this user subscribe to refund notifications; the local cache may keep refusing a key that ' +
  'another instance refunded until its window ends. Allow the channel for this user (ACL: &sluice:refunds), or ' +
  'unset LOCAL_CACHE_SIZE_IN_BYTES';
