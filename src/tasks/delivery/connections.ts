import { createSecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { Connection, type ConnectionParts } from './connection.ts';
import type { HostAddress } from './host-addresses.ts';

export interface ConnectionOptions {
  /** Idle connections in all; beyond, the one that has been idle the longest is closed. */
  readonly maxIdle: number;
  /** Certificates (PEM) of authorities that are trusted beside the well-known ones; null for none. */
  readonly ca: string | null;
  readonly clock: Clock;
}

/** Connections to hosts, kept for the next attempt. */
export class Connections {
  readonly #maxIdle: number;
  readonly #parts: ConnectionParts;
  /** By key, the one that was used last at the end. */
  readonly #idle = new Map<string, Connection[]>();
  /** All of those, the one that has been idle the longest first. */
  readonly #idleInOrder = new Set<Connection>();
  readonly #used = new Set<Connection>();

  /** @throws Error when the certificates cannot be read */
  constructor({ maxIdle, ca, clock }: ConnectionOptions) {
    this.#maxIdle = maxIdle;
    this.#parts = { secureContext: createSecureContext({ ca: trustedCas(ca ?? '') }), clock };
  }

  /** Connections that there are, idle or in use. */
  get size(): number {
    return this.#used.size + this.#idleInOrder.size;
  }

  /** One for this tenant and origin, for one attempt. It goes back with {@link give} or {@link drop}. */
  take(tenant: string, origin: string, addresses: readonly HostAddress[]): Connection {
    const key = `${tenant} ${origin}`;
    const idle = this.#idle.get(key);
    while (idle !== undefined && idle.length > 0) {
      const connection = idle[idle.length - 1];
      this.#forget(connection);
      if (connection.use(addresses)) {
        this.#used.add(connection);
        return connection;
      }
      // The name leads elsewhere now.
      connection.destroy();
    }
    const connection = new Connection(key, origin, this.#parts, lost => this.#lost(lost));
    connection.use(addresses);
    this.#used.add(connection);
    return connection;
  }

  /** An attempt is done with it, and the next one may use it. */
  give(connection: Connection): void {
    if (!this.#used.delete(connection)) return;
    const idle = this.#idle.get(connection.key);
    if (idle === undefined) this.#idle.set(connection.key, [connection]);
    else idle.push(connection);
    this.#idleInOrder.add(connection);
    if (this.#idleInOrder.size <= this.#maxIdle) return;
    const [oldest] = this.#idleInOrder;
    this.#forget(oldest);
    oldest.destroy();
  }

  /** An attempt is done with it, and nobody may use it again. */
  drop(connection: Connection): void {
    this.#used.delete(connection);
    connection.destroy();
  }

  /** Closes all of them. */
  close(): void {
    const all = [...this.#used, ...this.#idleInOrder];
    this.#used.clear();
    this.#idle.clear();
    this.#idleInOrder.clear();
    for (const connection of all) connection.destroy();
  }

  /** An idle connection was closed, by the other side or because nobody needed it. */
  #lost(connection: Connection): void {
    if (!this.#idleInOrder.has(connection)) return;
    this.#forget(connection);
    connection.destroy();
  }

  #forget(connection: Connection): void {
    this.#idleInOrder.delete(connection);
    const idle = this.#idle.get(connection.key);
    if (idle === undefined) return;
    const at = idle.lastIndexOf(connection);
    if (at >= 0) idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.key);
  }
}
