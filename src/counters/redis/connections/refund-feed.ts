import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RedisEndpoint } from '../../../clients/redis/address.ts';
import { RedisReplyError, refusesScripts } from '../../../clients/redis/errors.ts';
import { REFUNDS_CHANNEL } from '../protocol/scripts.ts';
import { RedisConnection } from './connection.ts';
import { Waits } from './waits.ts';

/** A server that notifies its subscribers of the refunds of all processes. */
export interface FeedSource {
  /** How log lines name it: without credentials. */
  readonly address: string;
  /** Where it is now: asked before each attempt to connect. */
  readonly find: () => Promise<RedisEndpoint>;
  /** Whether there is a connection that counts. */
  readonly isUp: () => boolean;
  /** While there is: false when the counters are no longer at this server. */
  readonly isCurrent: (shown: string) => boolean;
  /** Whether a replica is refused, since who said where the master is may be wrong. */
  readonly mustBeMaster: boolean;
}

/** Receives the notifications. */
export interface FeedListener {
  /** The count of a key was lowered. */
  readonly refunded: (key: Uint8Array) => void;
  /** Refunds are missed from now on, until `up`. */
  readonly down: () => void;
  readonly up: () => void;
}

interface RefundFeedParts {
  /** Bound of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often the connection is asked for a PONG, and how long for: together a second, in which one that leads nowhere is found. */
const EVERY_MS = 250;
const MAX_TIMEOUT_MS = 750;
const RETRY_MS = 250;
/** An operator may correct the access list while the service runs. */
const REFUSED_RETRY_MS = 60_000;
/** Attempts in a row at which SUBSCRIBE was not answered, after which it is taken for refused: once can be chance. */
const UNANSWERED = 3;
/** Failed attempts in a row, while Redis counts, that the log is told of. */
const TOLD_AFTER = 40;

/**
 * Receives, on a connection of its own, the keys whose counts a refund of any process has lowered. Redis sends such a
 * notification once and stores none: what was published while there was no connection is lost, so the listener is told
 * when the connection is lost and when it is back.
 */
export class RefundFeed {
  readonly #source: FeedSource;
  readonly #parts: RefundFeedParts;
  readonly #listener: FeedListener;
  readonly #timeoutMs: number;
  readonly #waits: Waits;
  #connection: RedisConnection | null = null;
  /** True while it is refused: the listener is told that it is up, as nothing better will come. */
  #isRefused = false;
  #unanswered = 0;
  /** Failed attempts in a row while Redis counted. */
  #failed = 0;
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
    while (!this.#stopped) {
      try {
        await this.#follow();
      } catch (failure) {
        if (this.#stopped) return;
        this.#noteFailure(asError(failure));
      }
      if (!this.#stopped) await this.#waits.wait(this.#isRefused ? REFUSED_RETRY_MS : RETRY_MS);
    }
  }

  #noteFailure(failure: Error): void {
    const { logger } = this.#parts;
    const { address, isUp } = this.#source;
    const fields = { address, error: failure.message };
    const refuses = failure instanceof RedisReplyError && refusesScripts(failure);
    if (refuses || this.#unanswered >= UNANSWERED) {
      if (this.#isRefused) return;
      this.#isRefused = true;
      logger.warning(REFUSED, { ...fields, channel: REFUNDS_CHANNEL });
      this.#listener.up();
      return;
    }
    logger.debug('Refund notifications from Redis are interrupted; reconnecting', fields);
    if (isUp() && ++this.#failed === TOLD_AFTER) logger.warning(STAYS_DOWN, fields);
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
      this.#unanswered++;
      await connection.subscribe(REFUNDS_CHANNEL, this.#listener.refunded);
      this.#subscribed();
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

  #subscribed(): void {
    this.#unanswered = 0;
    this.#failed = 0;
    // Refunds were missed until now.
    if (this.#isRefused) this.#listener.down();
    this.#isRefused = false;
    this.#listener.up();
  }

  async #watch(connection: RedisConnection, endpoint: RedisEndpoint): Promise<void> {
    for (;;) {
      await this.#waits.wait(EVERY_MS);
      if (this.#stopped) return;
      const { isUp, isCurrent } = this.#source;
      if (isUp() && !isCurrent(endpoint.shown)) throw new Error(`${endpoint.shown} is no longer in use`);
      await connection.send('PING', []);
    }
  }
}

const STAYS_DOWN =
  'Cannot receive refund notifications from Redis; the local cache is not used, so requests over their limit ask Redis. ' +
  'Sluice keeps trying';

const REFUSED =
  'Redis does not let this user subscribe to refund notifications; the local cache may keep refusing a key that ' +
  'another instance refunded until its window ends. Allow the channel for this user (ACL: &sluice:refunds), or ' +
  'unset LOCAL_CACHE_SIZE_IN_BYTES';
