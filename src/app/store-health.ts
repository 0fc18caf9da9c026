import type { Health } from '../base/health.ts';

/** Whether the counter store counts. Decisions go on without it, or fail one by one, so it does not decide. */
const STORE_COMPONENT = 'store';

/** Whether there are connections to the store; only where they decide (`REDIS_HEALTH_CHECK_ACTIVE_CONNECTION`). */
const CONNECTION_COMPONENT = 'store_connection';

/** The number of the thread that has the ports. */
const THIS_THREAD = 0;

const NO_CONNECTION = 'there is no connection to the store';

/** The health of the store as all threads see theirs: it works when it does for each of them. */
export class StoreHealth {
  readonly #health: Health;
  readonly #connectionsDecide: boolean;
  readonly #reasons = new Map<number, string>();
  readonly #connected = new Map<number, boolean>();

  /** @param connectionsDecide whether the process is unhealthy while there are no connections to the store */
  constructor(health: Health, connectionsDecide: boolean) {
    this.#health = health;
    this.#connectionsDecide = connectionsDecide;
    this.#tell();
  }

  /** Why the store of a thread does not count; null when it does, or the thread is gone. */
  storeChanged(reason: string | null, threadId = THIS_THREAD): void {
    if (reason === null) this.#reasons.delete(threadId);
    else this.#reasons.set(threadId, reason);
    this.#tell();
  }

  /** Whether the store of a thread has connections; null when the thread is gone. */
  connectionsChanged(connected: boolean | null, threadId = THIS_THREAD): void {
    if (connected === null) this.#connected.delete(threadId);
    else this.#connected.set(threadId, connected);
    this.#tell();
  }

  #tell(): void {
    const isConnected = [...this.#connected.values()].every(Boolean);
    const note = isConnected ? null : NO_CONNECTION;
    if (this.#connectionsDecide) this.#health.set(CONNECTION_COMPONENT, isConnected, note);
    const [reason = note] = this.#reasons.values();
    this.#health.tell(STORE_COMPONENT, reason === null, reason);
  }
}
