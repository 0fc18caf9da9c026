/** An operation, from request to reply. */
export interface WindowedOperation {
  readonly tenant: string;
  /** The work for Redis, where reading one key is 1. */
  readonly weight: number;
  readonly send: () => void;
}

/**
 * Maximum work of one tenant in flight. It keeps Redis busy for a round trip. Redis needs some tens of milliseconds for it,
 * which other tenants may have to wait.
 */
const MAX_WEIGHT = 1_024;

interface Window {
  sentWeight: number;
  /** Waiting operations, in order. */
  readonly waiting: Set<WindowedOperation>;
}

/**
 * Limits the operations of each tenant in flight. Redis handles the requests of a connection in order, so an operation
 * waits for all that were sent before. Therefore the queue of a tenant with many operations is kept here. There is no limit
 * for all tenants together, because an unreachable node of a cluster must only delay its own tenants.
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

  /** Call this when an operation that was sent has ended. */
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

/** An operation that exceeds the window is sent when no other is in flight. */
function hasRoom({ sentWeight }: Window, weight: number): boolean {
  return sentWeight === 0 || sentWeight + weight <= MAX_WEIGHT;
}
