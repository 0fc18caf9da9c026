import { FairShares } from '../../../base/turns/fair-shares.ts';

/** A queue in which tenants take turns: the next item is the oldest one of the tenant that was served longest ago. */
export class Turns<T> {
  readonly #tenants = new Map<string, Set<T>>();

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  add(tenant: string, item: T): void {
    const items = this.#tenants.get(tenant);
    if (items === undefined) this.#tenants.set(tenant, new Set([item]));
    else items.add(item);
  }

  /** Removes an item from the queue. Returns false if the item is not in the queue. */
  remove(tenant: string, item: T): boolean {
    const items = this.#tenants.get(tenant);
    if (items?.delete(item) !== true) return false;
    if (items.size === 0) this.#tenants.delete(tenant);
    return true;
  }

  next(): T | null {
    for (const [tenant, items] of this.#tenants) {
      this.#tenants.delete(tenant);
      for (const item of items) {
        items.delete(item);
        if (items.size > 0) this.#tenants.set(tenant, items);
        return item;
      }
    }
    return null;
  }
}

/**
 * Limits the number of concurrent reads whose responses may be as large as a full page. Further reads wait, and tenants
 * take turns. Each read takes a few milliseconds only, but without a limit a caller with hundreds of connections could
 * fill the memory of the thread.
 */
export class LargeReads {
  readonly #atOnce: number;
  readonly #waiting = new Turns<() => void>();
  #running = 0;

  /**
   * @param atOnce maximum number of concurrent reads, chosen so that store responses and rendered pages take about 20
   * MiB
   */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** @param read reads and renders the page; the memory it uses is released when it ends */
  async run<T>(tenant: string, read: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await new Promise<void>(go => this.#waiting.add(tenant, go));
    else this.#running++;
    try {
      return await read();
    } finally {
      // Pass the slot on to the next waiting read, if any.
      const next = this.#waiting.next();
      if (next === null) this.#running--;
      else next();
    }
  }
}

/** Maximum number of calls, and of body bytes, that wait or run for all tenants together. */
export interface PlaceBounds {
  readonly calls: number;
  /** Bytes of request bodies. */
  readonly bytes: number;
}

/** Bounds for the calls of the REST interface. */
export const CALL_BOUNDS: PlaceBounds = { calls: 4_096, bytes: 64 * 1024 * 1024 };

/** A tenant that is alone is guaranteed the bounds divided by this number; each of k tenants a k-th of that. */
const GUARANTEED_PART = 16;

/**
 * Limits the calls that wait or run, such that tenants with many calls leave places for others ({@link FairShares}). A
 * single active tenant may have about a third of the places.
 */
export class Places {
  readonly #bounds: PlaceBounds;
  readonly #calls: FairShares;
  readonly #bytes: FairShares;

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds;
    this.#calls = sharesOf(bounds.calls);
    this.#bytes = sharesOf(bounds.bytes);
  }

  get calls(): number {
    return this.#calls.taken;
  }

  get bytes(): number {
    return this.#bytes.taken;
  }

  /** Reserves places. Returns false, and reserves nothing, if there is not enough room. */
  take(tenant: string, calls: number, bytes: number): boolean {
    if (calls > 0 && calls > this.#calls.roomFor(tenant)) return false;
    if (bytes > 0 && !this.#hasRoomFor(tenant, bytes)) return false;
    if (calls > 0) this.#calls.take(tenant, calls);
    if (bytes > 0) this.#bytes.take(tenant, bytes);
    return true;
  }

  give(tenant: string, calls: number, bytes: number): void {
    if (calls > 0) this.#calls.give(tenant, calls);
    if (bytes > 0) this.#bytes.give(tenant, bytes);
  }

  /** A body may be larger than a share: a tenant without others may have one as long as it fits at all. */
  #hasRoomFor(tenant: string, bytes: number): boolean {
    if (bytes <= this.#bytes.roomFor(tenant)) return true;
    return this.#bytes.heldBy(tenant) === 0 && bytes <= this.#bounds.bytes - this.#bytes.taken;
  }
}

function sharesOf(capacity: number): FairShares {
  return new FairShares({ capacity, base: Math.max(1, Math.floor(capacity / GUARANTEED_PART)) });
}
