import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outage } from '../../base/outage-log.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';
import { MemcachedConnection, type NodeTarget } from './connection.ts';

export interface NodeOptions {
  /** Connections that are kept. */
  readonly connections: number;
  readonly tls: ClientTls | null;
  /** Bound of connecting, and of any time in which an answer is awaited and nothing comes. */
  readonly timeoutMs: number;
  /** Of all nodes; its parts are their addresses. */
  readonly outage: Outage;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Waits between attempts to reach a node that was lost. */
const RECONNECT = { initialMs: 50, maxMs: 2_000 } as const;

/** One memcached server, with connections that are made anew in the background whenever they are lost. */
export class MemcachedNode {
  /** Its address, as it is named in settings and log lines. */
  readonly address: string;
  readonly #target: NodeTarget;
  readonly #options: NodeOptions;
  readonly #cameUp: () => void;
  readonly #up: MemcachedConnection[] = [];
  /** Every connection that is not closed, also those that are being made. */
  readonly #unclosed = new Set<MemcachedConnection>();
  readonly #timers = new Set<Timer>();
  #reason = 'it has not answered yet';
  #begun = false;
  #everUp = false;
  #stopped = false;

  /** @param cameUp called whenever a connection was made */
  constructor(address: string, target: NodeTarget, options: NodeOptions, cameUp: () => void) {
    this.address = address;
    this.#target = target;
    this.#options = options;
    this.#cameUp = cameUp;
  }

  /** Why there is no connection. */
  get reason(): string {
    return this.#reason;
  }

  /**
   * The connection for the keys of this number, which is the same one as long as no connection is lost: on it, a count
   * that is read holds what was added before. Null while there is none.
   */
  connectionFor(number: number): MemcachedConnection | null {
    return this.#up.length === 0 ? null : this.#up[number % this.#up.length];
  }

  /** Begins to connect; resolves when each connection was tried once. A second call changes nothing. */
  async connect(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    await Promise.all(Array.from({ length: this.#options.connections }, () => this.#open(0)));
  }

  /** Resolves when nothing waits for an answer. */
  async idle(): Promise<void> {
    await Promise.all([...this.#unclosed].map(connection => connection.idle()));
  }

  close(): void {
    this.#stopped = true;
    this.#options.outage.left(this.address);
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const connection of this.#unclosed) connection.close();
  }

  /** @param attempts how often it failed before */
  async #open(attempts: number): Promise<void> {
    if (this.#stopped) return;
    const { tls, timeoutMs, clock } = this.#options;
    const connection = new MemcachedConnection({ target: this.#target, tls, timeoutMs, clock });
    this.#unclosed.add(connection);
    void connection.closed.then(() => this.#unclosed.delete(connection));
    try {
      await connection.open();
    } catch (failure) {
      return this.#failed(asError(failure).message, attempts);
    }
    if (this.#stopped) return connection.close();
    this.#connected(connection);
  }

  #connected(connection: MemcachedConnection): void {
    const { logger, outage } = this.#options;
    const { address } = this;
    this.#everUp = true;
    this.#up.push(connection);
    outage.connected(address);
    if (this.#up.length === 1) logger.info('Connected to memcached', { address });
    this.#cameUp();
    void connection.closed.then(reason => {
      this.#up.splice(this.#up.indexOf(connection), 1);
      this.#reason = reason;
      if (this.#stopped) return;
      if (this.#up.length === 0) {
        logger.info('memcached connection lost; reconnecting', { address, reason });
        outage.lost(address, `${address}: ${reason}`);
      }
      this.#later(0);
    });
  }

  #failed(reason: string, attempts: number): void {
    if (this.#stopped) return;
    if (this.#up.length === 0) {
      this.#reason = reason;
      this.#options.outage.lost(this.address, `${this.address}: ${reason}`, !this.#everUp);
    }
    this.#later(attempts + 1);
  }

  #later(attempts: number): void {
    const { clock, random } = this.#options;
    const timer = clock.after(backoffMs(RECONNECT, attempts, random), () => {
      this.#timers.delete(timer);
      void this.#open(attempts);
    });
    this.#timers.add(timer);
  }
}
