import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RedisEndpoint } from '../../../clients/redis/address.ts';
import { RedisReplyError, refusesScripts } from '../../../clients/redis/errors.ts';
import { REFUNDS_CHANNEL } from '../protocol/scripts.ts';
import { RedisConnection } from './connection.ts';
import type { CountingServer } from './counting-server.ts';
import { Waits } from './waits.ts';

/** Receives the notifications. */
export interface FeedListener {
  /** The count of a key was lowered. */
  readonly refunded: (key: Uint8Array) => void;
  /** Refunds are missed from now on, until `up`. */
  readonly down: () => void;
  readonly up: () => void;
}

interface RefundFeedParts {
  /** Timeout of connecting and of each command; 0 for none. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval and timeout of PING. Together they are less than a second, within which a dead connection is noticed. */
const EVERY_MS = 250;
const MAX_TIMEOUT_MS = 600;
const RETRY_MS = 250;
/** Retry interval if the subscription was refused. An operator may correct the access list meanwhile. */
const REFUSED_RETRY_MS = 60_000;
/** After this many successive attempts without a reply to SUBSCRIBE, it counts as refused. */
const UNANSWERED = 3;
/** The log warns after this many successive failed attempts while Redis counts. */
const TOLD_AFTER = 40;

/**
 * Receives, on a separate connection, the keys whose counts were lowered by refunds of any process. Redis does not store
 * notifications, so those that are published while there is no connection are lost. Therefore the listener is notified
 * when the connection is lost and when it is up again.
 */
export class RefundFeed {
  readonly #source: CountingServer;
  readonly #parts: RefundFeedParts;
  readonly #listener: FeedListener;
  readonly #timeoutMs: number;
  readonly #waits: Waits;
  #connection: RedisConnection | null = null;
  /** True while the subscription is refused. The listener then receives `up`, because waiting would not help. */
  #isRefused = false;
  #unanswered = 0;
  /** Number of successive failed attempts while Redis counted. */
  #failed = 0;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(source: CountingServer, parts: RefundFeedParts, listener: FeedListener) {
    this.#source = source;
    this.#parts = parts;
    this.#listener = listener;
    this.#timeoutMs = parts.timeoutMs > 0 ? Math.min(parts.timeoutMs, MAX_TIMEOUT_MS) : MAX_TIMEOUT_MS;
    this.#waits = new Waits(parts.clock);
  }

  /** Starts to connect, and reconnects until `stop`. */
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

  /** Connects and subscribes. Returns or throws when the connection is lost or the counters moved to another server. */
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
    // Refunds were missed until now, so the cache must be cleared.
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
