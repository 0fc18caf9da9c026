import { RedisConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoint.ts';

/** A server that does not answer is passed over after this time, as another one is likely to. */
const MAX_WAIT_MS = 2_000;

/** Connections that are made for a question to a sentinel or a node of a cluster, and closed after it. */
export class SideConnections {
  readonly #boundMs: number;
  readonly #open = new Set<RedisConnection>();
  #stopped = false;

  /** @param timeoutMs bound of connecting and of each command; 0 for none */
  constructor(timeoutMs: number) {
    this.#boundMs = timeoutMs > 0 ? Math.min(timeoutMs, MAX_WAIT_MS) : MAX_WAIT_MS;
  }

  /** @throws Error when the server cannot be asked, and what `ask` throws */
  async use<T>(endpoint: RedisEndpoint, ask: (connection: RedisConnection) => Promise<T>): Promise<T> {
    if (this.#stopped) throw new Error('the service stops');
    const connection = new RedisConnection({ endpoint, timeoutMs: this.#boundMs });
    this.#open.add(connection);
    try {
      await connection.open({ tryScripts: false, mustBeMaster: false });
      return await ask(connection);
    } finally {
      connection.close();
      await connection.closed;
      this.#open.delete(connection);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const connection of this.#open) connection.close();
    await Promise.all([...this.#open].map(connection => connection.closed));
  }
}
