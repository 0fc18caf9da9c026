import type { Health } from '../../base/health.ts';
import type { OutageListener, OutageLog, OutageTexts } from '../../base/outage-log.ts';

/** The counter store. It does not decide about the health of the process. */
const STORE_COMPONENT = 'store';

/** The connections to the store. Reported only if `REDIS_HEALTH_CHECK_ACTIVE_CONNECTION` makes them decide. */
const CONNECTION_COMPONENT = 'store_connection';

/** The id of the primary thread, which has the ports. */
const THIS_THREAD = 0;

const NO_CONNECTION = 'there is no connection to the store';

/**
 * Health of the store in all threads. The store is healthy while no thread has an outage of the store or of one of its
 * instances. Outages are also passed on to the log.
 */
export class StoreHealth implements OutageListener {
  readonly #health: Health;
  readonly #connectionsDecide: boolean;
  readonly #log: OutageLog;
  /** By thread: the reason of the outage of each store or instance. */
  readonly #outages = new Map<number, Map<string, string>>();
  readonly #connected = new Map<number, boolean>();

  /** @param connectionsDecide whether the process is unhealthy while there are no connections to the store */
  constructor(health: Health, connectionsDecide: boolean, log: OutageLog) {
    this.#health = health;
    this.#connectionsDecide = connectionsDecide;
    this.#log = log;
    this.#tell();
  }

  began(texts: OutageTexts, reason: string, atStart: boolean, thread = THIS_THREAD): void {
    const own = this.#outages.get(thread) ?? new Map<string, string>();
    this.#outages.set(thread, own.set(storeOf(texts), reason));
    this.#tell();
    this.#log.began(texts, reason, atStart, thread);
  }

  changed(texts: OutageTexts, reason: string, thread = THIS_THREAD): void {
    this.#outages.get(thread)?.set(storeOf(texts), reason);
    this.#tell();
    this.#log.changed(texts, reason);
  }

  over(texts: OutageTexts, failedCalls: number, thread = THIS_THREAD): void {
    this.#outages.get(thread)?.delete(storeOf(texts));
    this.#tell();
    this.#log.over(texts, failedCalls, thread);
  }

  /** Reports whether the store of a thread has connections. */
  connectionsChanged(connected: boolean, thread = THIS_THREAD): void {
    this.#connected.set(thread, connected);
    this.#tell();
  }

  /** Removes the store of a thread that has ended. */
  threadEnded(thread: number): void {
    this.#outages.delete(thread);
    this.#connected.delete(thread);
    this.#tell();
    this.#log.threadEnded(thread);
  }

  #tell(): void {
    if (this.#connectionsDecide) {
      // One lost connection may be the only one of its thread, and says nothing about the store.
      const connected = [...this.#connected.values()];
      const isConnected = connected.length === 0 || connected.some(Boolean);
      this.#health.set(CONNECTION_COMPONENT, isConnected, isConnected ? null : NO_CONNECTION);
    }
    const [reason = null] = [...this.#outages.values()].flatMap(own => [...own.values()]);
    this.#health.report(STORE_COMPONENT, reason === null, reason);
  }
}

/** Identifies the store, or the instance, of the texts. */
function storeOf({ began, fields }: OutageTexts): string {
  return JSON.stringify([began, fields]);
}
