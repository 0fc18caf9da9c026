import { FairShares } from '../../../base/turns/fair-shares.ts';

/** Maximum number of calls, and of body bytes, that wait or run for all tenants together. */
export interface PlaceBounds {
  readonly calls: number;
  /** Bytes of request bodies. */
  readonly bytes: number;
}

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
