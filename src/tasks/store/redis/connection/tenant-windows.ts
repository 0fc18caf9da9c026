/** An operation, from the request to the answer. */
export interface WindowedOperation {
  readonly tenant: string;
  /** How much work it is for Redis, where reading one key is 1. */
  readonly weight: number;
  readonly send: () => void;
}

/**
 * Work of one tenant that Redis is given at the same time. Enough for the answers of one round trip; the time that
 * Redis takes for it, some tens of milliseconds, is how long another tenant may have to wait.
 */
const MAX_WEIGHT = 1_024;

interface Window {
  sentWeight: number;
  /** In order. */
  readonly waiting: Set<WindowedOperation>;
}

/**
 * Limits what each tenant has sent to Redis. Redis answers a connection in order, so what a tenant sends has to wait for
 * all that others sent before: a tenant with a long queue keeps it here. There is no limit for all tenants together,
 * because a node of a cluster that is away must hold up its own tenants only.
 */
export class TenantWindows {
  readonly #windows = new Map<string, Window>();

  /** Sends the operation now, or when fewer operations of the tenant are in progress. */
  enter(operation: WindowedOperation): void {
    const { tenant, weight, send } = operation;
    let window = this.#windows.get(tenant);
    if (window === undefined) {
      window = { sentWeight: 0, waiting: new Set() };
      this.#windows.set(tenant, window);
    }
    if (window.waiting.size > 0 || !hasRoom(window, weight)) {
      window.waiting.add(operation);
      return;
    }
    window.sentWeight += weight;
    send();
  }

  /** Removes an operation that waits. Returns false if it was sent. */
  leave(operation: WindowedOperation): boolean {
    return this.#windows.get(operation.tenant)?.waiting.delete(operation) === true;
  }

  /** An operation that was sent is over. */
  done({ tenant, weight }: WindowedOperation): void {
    const window = this.#windows.get(tenant);
    if (window === undefined) return;
    window.sentWeight -= weight;
    for (const next of window.waiting) {
      if (!hasRoom(window, next.weight)) break;
      window.waiting.delete(next);
      window.sentWeight += next.weight;
      next.send();
    }
    if (window.sentWeight === 0 && window.waiting.size === 0) this.#windows.delete(tenant);
  }
}

/** An operation that is too heavy for any window is sent alone. */
function hasRoom({ sentWeight }: Window, weight: number): boolean {
  return sentWeight === 0 || sentWeight + weight <= MAX_WEIGHT;
}
