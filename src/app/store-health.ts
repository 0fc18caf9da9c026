import type { Health } from '../base/health.ts';

/** The health component of the counter store. */
export const STORE_COMPONENT = 'store';

/** The number of the thread that has the ports. */
const THIS_THREAD = 0;

/** The health of the store as all threads see theirs: none may be without connections, where that counts. */
export class StoreHealth {
  readonly #health: Health;
  readonly #connectionsCount: boolean;
  readonly #reasons = new Map<number, string>();
  readonly #connected = new Map<number, boolean>();

  /** @param connectionsCount whether the process is unhealthy while there are no connections to the store */
  constructor(health: Health, connectionsCount: boolean) {
    this.#health = health;
    this.#connectionsCount = connectionsCount;
  }

  /** Why the store of a thread does not count; null when it does, or the thread is gone. */
  storeChanged(reason: string | null, threadId = THIS_THREAD): void {
    if (reason === null) this.#reasons.delete(threadId);
    else this.#reasons.set(threadId, reason);
    const [first = null] = this.#reasons.values();
    this.#health.note(STORE_COMPONENT, first);
  }

  /** Whether the store of a thread has connections; null when the thread is gone. */
  connectionsChanged(connected: boolean | null, threadId = THIS_THREAD): void {
    if (connected === null) {
      if (!this.#connected.delete(threadId)) return;
    } else this.#connected.set(threadId, connected);
    if (this.#connectionsCount) {
      this.#health.set(STORE_COMPONENT, [...this.#connected.values()].every(Boolean));
    }
  }
}
