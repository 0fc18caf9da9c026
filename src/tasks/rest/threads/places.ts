/** Maximum number of calls, and of body bytes, that wait or run for all tenants together. */
export interface PlaceBounds {
  readonly calls: number;
  /** Bytes of request bodies. */
  readonly bytes: number;
}

interface Taken {
  calls: number;
  bytes: number;
}

/**
 * Limits the calls that wait or run. A tenant may use as much as it leaves free for all others. A single active tenant
 * can therefore use half, and another tenant always finds room.
 */
export class Places {
  readonly #bounds: PlaceBounds;
  readonly #all: Taken = { calls: 0, bytes: 0 };
  readonly #tenants = new Map<string, Taken>();

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds;
  }

  get calls(): number {
    return this.#all.calls;
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  /** Reserves places. Returns false, and reserves nothing, if there is not enough room. */
  take(tenant: string, calls: number, bytes: number): boolean {
    const taken = this.#tenants.get(tenant) ?? { calls: 0, bytes: 0 };
    const { calls: maxCalls, bytes: maxBytes } = this.#bounds;
    const { calls: allCalls, bytes: allBytes } = this.#all;
    if (calls > 0 && taken.calls + calls > maxCalls - allCalls) return false;
    if (bytes > 0 && taken.bytes + bytes > maxBytes - allBytes) return false;
    taken.calls += calls;
    taken.bytes += bytes;
    this.#all.calls += calls;
    this.#all.bytes += bytes;
    this.#tenants.set(tenant, taken);
    return true;
  }

  give(tenant: string, calls: number, bytes: number): void {
    const taken = this.#tenants.get(tenant);
    if (taken === undefined) return;
    taken.calls -= calls;
    taken.bytes -= bytes;
    this.#all.calls -= calls;
    this.#all.bytes -= bytes;
    if (taken.calls === 0 && taken.bytes === 0) this.#tenants.delete(tenant);
  }
}
