/** What tenants may have waiting or running at once, all of them together. */
export interface PlaceBounds {
  readonly calls: number;
  /** Of bodies. */
  readonly bytes: number;
}

interface Taken {
  calls: number;
  bytes: number;
}

/**
 * Bounds what waits. Each tenant may take as much as is left for all others, so one that is alone has half of it and
 * there is always room for the next.
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

  /** False when there is no room: nothing is taken then. */
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
