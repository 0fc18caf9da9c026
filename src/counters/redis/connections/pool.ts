import type { Clock, Timer } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import type { Outage } from '../../../base/outage-log.ts';
import { mayEndWithNewConnection, RedisReplyError } from '../../../clients/redis/errors.ts';
import { FailureLog } from '../../failure-log.ts';
import type { CountingServer, KeyServer } from './counting-server.ts';
import { notConnected, RedisLink, type RedisLinkParts, type RedisTarget } from './redis-link.ts';

/** The behavior if all connections of a pool are in use. */
export interface OnEmpty {
  /** After `waitMs`: `create` a temporary connection, or fail with an `error`. `wait`: wait without a limit. */
  readonly behavior: 'create' | 'error' | 'wait';
  readonly waitMs: number;
}

export interface PoolOptions {
  /** Maximum number of connections that are kept open. */
  readonly size: number;
  readonly onEmpty: OnEmpty;
}

const STOPPED = 'the service is shutting down';

/** Adds the server to a reason, because the address of a pool may be only the name of a master. */
export function withServer(link: RedisLink, reason: string): string {
  return `${link.endpoint?.shown ?? link.address}: ${reason}`;
}

/** A batch that waits for a connection. */
interface Waiting {
  readonly resolve: (link: RedisLink) => void;
  readonly reject: (failure: Fault) => void;
  timer: Timer | null;
}

/**
 * Connections to one Redis server, lent to one batch at a time. One connection is opened at startup. When all are in use,
 * further ones are opened up to the size of the pool and then kept. The connection used last is lent first.
 */
export class RedisPool {
  readonly #target: RedisTarget;
  readonly #options: PoolOptions;
  readonly #parts: RedisLinkParts;
  readonly #clock: Clock;
  readonly #outage: Outage;
  readonly #kept: RedisLink[] = [];
  /** Connections that are up and not lent. The one used last is at the end. */
  readonly #free: RedisLink[] = [];
  readonly #lent = new Set<RedisLink>();
  /** Connections beyond the size of the pool. They are closed when they are given back. */
  readonly #extra = new Set<RedisLink>();
  readonly #waiting: Waiting[] = [];
  readonly #closing = new Set<Promise<void>>();
  readonly #heartbeat: Heartbeat;
  readonly #failures: FailureLog;
  #begun: Promise<void> | null = null;
  #stopped = false;

  constructor(target: RedisTarget, options: PoolOptions, parts: RedisLinkParts) {
    this.#target = target;
    this.#options = options;
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#outage = parts.outage;
    this.#heartbeat = new Heartbeat(parts.clock, this.#free);
    this.#failures = new FailureLog(parts.clock, (reason, times) =>
      parts.logger.warning('A further Redis connection failed; retrying', {
        address: target.address,
        reason,
        times,
      }),
    );
    this.#kept.push(this.#newLink());
  }

  get address(): string {
    return this.#target.address;
  }

  /** Reports that the server handled a call without an error. */
  succeeded(): void {
    if (!this.#stopped) this.#outage.succeeded(this.address);
  }

  /** Reports that a call to the server failed, and not because of its keys. */
  failed(reason: string): void {
    if (!this.#stopped) this.#outage.failed(this.address, reason);
  }

  /** True while at least one connection is up, lent or not. */
  get up(): boolean {
    return this.#kept.some(link => link.up);
  }

  /** True while no connection is lent and no batch waits for one. */
  get idle(): boolean {
    return this.#lent.size === 0 && this.#waiting.length === 0;
  }

  /** False if Redis, or a proxy in front of it, rejects scripts. */
  get takesScripts(): boolean {
    return this.#kept[0].takesScripts;
  }

  /** The source of refund notifications: the server of these connections. */
  get feed(): CountingServer {
    const { address, find, mustBeMaster } = this.#target;
    const leadsTo = (shown: string): boolean =>
      this.#kept.some(link => link.up && link.endpoint?.shown === shown);
    return { address, find, mustBeMaster, isUp: () => this.up, isCurrent: leadsTo };
  }

  /** The server of these connections, for a key that is no counter. */
  get keyServer(): KeyServer {
    return { ...this.feed, link: () => this.#upLink(), lookAgain: () => {} };
  }

  /** Why no connection is up. */
  get reason(): string {
    return this.#kept[0].reason;
  }

  /** Connects; see {@link RedisLink.start}. */
  start(): Promise<void> {
    return this.#kept[0].start();
  }

  /** Starts to connect when called first. Resolves after the first attempt; if it failed, further ones follow. */
  connected(): Promise<void> {
    this.#begun ??= this.#kept[0].begin();
    return this.#begun;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#outage.left(this.address);
    this.#free.length = 0;
    this.#heartbeat.stop();
    this.#rejectWaiting(notConnected(this.address, STOPPED));
    await Promise.all([...this.#kept, ...this.#extra].map(link => link.stop()));
    await Promise.all(this.#closing);
  }

  /**
   * Lends a connection; return it with `giveBack`. Returns no promise if a connection is free, which is nearly always so.
   * @throws Fault `store_failed` if no connection is up, or if none becomes free in time and `onEmpty` is `error`
   */
  lend(): RedisLink | Promise<RedisLink> {
    const link = this.#free.pop();
    if (link === undefined) return this.#wait();
    this.#lent.add(link);
    return link;
  }

  giveBack(link: RedisLink): void {
    this.#lent.delete(link);
    if (link.up) this.#hand(link);
    else if (this.#extra.has(link)) this.#close(link);
  }

  /** Replaces every connection to a server other than this one. */
  leaveOthers(shown: string, reason: string): void {
    for (const link of [...this.#kept, ...this.#extra]) {
      if (link.up && link.endpoint?.shown !== shown) link.renew(reason);
    }
  }

  /** A connection that is up, also if a batch uses it: replies come in the order of the commands. */
  #upLink(): RedisLink | null {
    return this.#free.at(-1) ?? this.#kept.find(link => link.up) ?? null;
  }

  #newLink(): RedisLink {
    return new RedisLink(this.#target, this.#parts, {
      up: this.#onUp,
      down: this.#onDown,
      failed: this.#onFailed,
    });
  }

  readonly #onUp = (link: RedisLink): void => {
    if (!this.#stopped) this.#heartbeat.start();
    this.#outage.connected(this.address);
    if (!this.#extra.has(link) && !this.#lent.has(link)) this.#hand(link);
  };

  readonly #onDown = (link: RedisLink): void => {
    const at = this.#free.indexOf(link);
    if (at >= 0) this.#free.splice(at, 1);
    if (this.up) return;
    if (!this.#stopped) this.#outage.lost(this.address, withServer(link, link.reason));
    this.#rejectWaiting(notConnected(this.address, link.reason));
  };

  readonly #onFailed = (link: RedisLink, inARow: number, atStart: boolean): void => {
    if (this.#stopped) return;
    // When a server dies, new connections are often refused before the loss of the existing ones is noticed.
    if (this.up) {
      if (inARow > 1) this.#failures.failed(link.reason);
    } else this.#outage.lost(this.address, withServer(link, link.reason), atStart);
  };

  /** Lends the connection to the next waiting batch, or returns it to the pool. */
  #hand(link: RedisLink): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.timer?.cancel();
      this.#lent.add(link);
      next.resolve(link);
    } else if (this.#extra.has(link)) this.#close(link);
    else if (!this.#stopped) this.#free.push(link);
  }

  async #wait(): Promise<RedisLink> {
    if (this.#stopped) throw notConnected(this.address, STOPPED);
    if (!this.up) throw notConnected(this.address, this.reason);
    if (this.#kept.length < this.#options.size) {
      const link = this.#newLink();
      this.#kept.push(link);
      void link.begin();
    }
    const { behavior, waitMs } = this.#options.onEmpty;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { resolve, reject, timer: null };
      this.#waiting.push(waiting);
      if (behavior !== 'wait') waiting.timer = this.#clock.after(waitMs, () => this.#waitedTooLong(waiting));
    });
  }

  #waitedTooLong(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    const { size, onEmpty } = this.#options;
    if (onEmpty.behavior === 'create') {
      this.#openExtra().then(waiting.resolve, waiting.reject);
      return;
    }
    const connections = size === 1 ? 'the connection is' : `all ${size} connections are`;
    waiting.reject(
      new Fault(
        'store_failed',
        `Redis at ${this.address}: ${connections} in use, and none became free within ${onEmpty.waitMs} ms`,
      ),
    );
  }

  async #openExtra(): Promise<RedisLink> {
    const link = this.#newLink();
    this.#extra.add(link);
    this.#lent.add(link);
    try {
      await link.connect();
      return link;
    } catch {
      this.#lent.delete(link);
      this.#close(link);
      throw notConnected(this.address, link.reason);
    }
  }

  #close(link: RedisLink): void {
    this.#extra.delete(link);
    const closed = link.stop();
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }

  #rejectWaiting(failure: Fault): void {
    for (const waiting of this.#waiting.splice(0)) {
      waiting.timer?.cancel();
      waiting.reject(failure);
    }
  }
}

/** Servers and load balancers close connections that are idle for a minute or more. A batch must not be the first to notice. */
const EVERY_MS = 5_000;

/** Sends PING on unused connections, so that they are not closed as idle and broken ones are replaced. */
class Heartbeat {
  readonly #clock: Clock;
  readonly #links: Iterable<RedisLink>;
  /** Connections with a PING in flight. Without a timeout, a reply may never come. */
  readonly #asked = new Set<RedisLink>();
  #timer: Timer | null = null;

  /** @param links the connections that are up and unused; read at each interval */
  constructor(clock: Clock, links: Iterable<RedisLink>) {
    this.#clock = clock;
    this.#links = links;
  }

  /** Has no effect if it was started before. */
  start(): void {
    if (this.#timer === null) this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    this.#timer = this.#clock.after(EVERY_MS, () => {
      this.#wait();
      for (const link of this.#links) if (!this.#asked.has(link)) void this.#ask(link);
    });
  }

  /** The connection can be lent meanwhile: replies come in the order of the commands. */
  async #ask(link: RedisLink): Promise<void> {
    this.#asked.add(link);
    try {
      await link.send('PING', []);
    } catch (failure) {
      // All other errors have already closed the connection.
      if (failure instanceof RedisReplyError && mayEndWithNewConnection(failure.message)) {
        link.renew(failure.message);
      }
    } finally {
      this.#asked.delete(link);
    }
  }
}
