import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outage } from '../../base/outage-log.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';
import { MemcachedConnection, type NodeTarget } from './connection.ts';

export interface NodeOptions {
  /** Number of connections to keep open. */
  readonly connections: number;
  readonly tls: ClientTls | null;
  /** Timeout for connecting, and for any period without data while a response is outstanding. */
  readonly timeoutMs: number;
  /** The outage of all nodes. Its parts are the addresses of the nodes. */
  readonly outage: Outage;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number, 0 inclusive to 1 exclusive. */
  readonly random: () => number;
}

/** Delays between attempts to reconnect to a node. */
const RECONNECT = { initialMs: 50, maxMs: 2_000 } as const;

/** A memcached server. Lost connections are replaced in the background. */
export class MemcachedNode {
  /** The address as shown in log lines. */
  readonly address: string;
  readonly #target: NodeTarget;
  readonly #options: NodeOptions;
  readonly #cameUp: () => void;
  readonly #up: MemcachedConnection[] = [];
  /** All connections that are not closed, including those that are connecting. */
  readonly #unclosed = new Set<MemcachedConnection>();
  readonly #timers = new Set<Timer>();
  #reason = 'it has not responded yet';
  #begun = false;
  #everUp = false;
  #stopped = false;

  /** @param cameUp called after each successful connection attempt */
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
   * The connection for keys with this hash; null if the node is not connected. The same connection while none is lost or
   * added, so that a count that is read includes the hits that were added before.
   */
  connectionFor(number: number): MemcachedConnection | null {
    return this.#up.length === 0 ? null : this.#up[number % this.#up.length];
  }

  /** Starts connecting. Resolves after one attempt per connection. A second call does nothing. */
  async connect(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    await Promise.all(Array.from({ length: this.#options.connections }, () => this.#open(0)));
  }

  /** Resolves when no response is outstanding. */
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

  /** @param attempts number of failed attempts so far */
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
