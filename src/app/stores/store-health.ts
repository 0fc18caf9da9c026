import type { Health } from '../../base/health.ts';
import type { OutageListener, OutageLog, OutageTexts } from '../../base/outage-log.ts';

/** Whether the counter store counts. Decisions go on without it, or fail one by one, so it does not decide. */
const STORE_COMPONENT = 'store';

/** Whether there are connections to the store; only where they decide (`REDIS_HEALTH_CHECK_ACTIVE_CONNECTION`). */
const CONNECTION_COMPONENT = 'store_connection';

/** The number of the thread that has the ports. */
const THIS_THREAD = 0;

const NO_CONNECTION = 'there is no connection to the store';

/**
 * The health of the store as all threads see theirs: it works while none of them has an outage of it, or of one of its
 * instances. What it is told of outages it passes on to the log.
 */
export class StoreHealth implements OutageListener {
  readonly #health: Health;
  readonly #connectionsDecide: boolean;
  readonly #log: OutageLog;
  /** By thread: why each store, or instance of it, that has an outage cannot be used. */
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

  over(texts: OutageTexts, failedCalls: number, thread = THIS_THREAD): void {
    this.#outages.get(thread)?.delete(storeOf(texts));
    this.#tell();
    this.#log.over(texts, failedCalls, thread);
  }

  /** Whether the store of a thread has connections. */
  connectionsChanged(connected: boolean, thread = THIS_THREAD): void {
    this.#connected.set(thread, connected);
    this.#tell();
  }

  /** A thread is gone, and its store with it. */
  threadEnded(thread: number): void {
    this.#outages.delete(thread);
    this.#connected.delete(thread);
    this.#tell();
    this.#log.threadEnded(thread);
  }

  #tell(): void {
    if (this.#connectionsDecide) {
      const isConnected = [...this.#connected.values()].every(Boolean);
      this.#health.set(CONNECTION_COMPONENT, isConnected, isConnected ? null : NO_CONNECTION);
    }
    const [reason = null] = [...this.#outages.values()].flatMap(own => [...own.values()]);
    this.#health.tell(STORE_COMPONENT, reason === null, reason);
  }
}

/** Which store the texts are about: those of two instances differ in it. */
function storeOf({ began, fields }: OutageTexts): string {
  return JSON.stringify([began, fields]);
}
