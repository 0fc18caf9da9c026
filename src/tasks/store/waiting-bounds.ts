import { FairShares } from '../../base/turns/fair-shares.ts';

interface WaitingLimits {
  /** Maximum number of operations in progress, of all tenants together. */
  readonly count: number;
  /** Maximum total size of these operations, in characters. */
  readonly size: number;
}

/** Each of k tenants is guaranteed the limits divided by this number and by k. */
const GUARANTEED_PART = 16;

/**
 * Limits the operations in progress of a store, so that a tenant with many of them leaves room for others. A single tenant
 * can use about a third of the limits.
 */
export class WaitingBounds {
  readonly #limits: WaitingLimits;
  /** Minimum size that an operation counts as, so that the limit of the size also limits the number. */
  readonly #leastSize: number;
  readonly #shares: FairShares;

  constructor(limits: WaitingLimits) {
    const { count, size } = limits;
    this.#limits = limits;
    this.#leastSize = Math.ceil(size / count);
    const base = Math.max(this.#leastSize, Math.floor(size / GUARANTEED_PART));
    this.#shares = new FairShares({ capacity: size, base });
  }

  /** Returns the size to pass to `give` when the operation has its reply; null if it is rejected. */
  take(tenant: string, size: number): number | null {
    const counted = Math.max(size, this.#leastSize);
    if (counted > this.#shares.roomFor(tenant) && !this.#isAlone(tenant, counted)) return null;
    this.#shares.take(tenant, counted);
    return counted;
  }

  give(tenant: string, counted: number): void {
    this.#shares.give(tenant, counted);
  }

  /** A single operation of a tenant may be larger than its share. */
  #isAlone(tenant: string, counted: number): boolean {
    const { taken } = this.#shares;
    return taken === 0 || (this.#shares.heldBy(tenant) === 0 && taken + counted <= this.#limits.size);
  }
}
