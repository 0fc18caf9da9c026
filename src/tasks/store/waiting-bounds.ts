import { FairShares } from '../../base/turns/fair-shares.ts';

interface WaitingLimits {
  /** Operations that may wait for their answers, of all tenants together. */
  readonly count: number;
  /** Their size, in characters. */
  readonly size: number;
}

/** A tenant that is alone is guaranteed the limits divided by this number; each of k tenants a k-th of that. */
const GUARANTEED_PART = 16;

/**
 * Limits the operations that wait for a store, such that a tenant with many of them leaves room for the others. One
 * that is alone may have about a third of what is allowed.
 */
export class WaitingBounds {
  readonly #limits: WaitingLimits;
  /** An operation counts for at least this much, so that the size limits the number as well. */
  readonly #leastSize: number;
  readonly #shares: FairShares;

  constructor(limits: WaitingLimits) {
    const { count, size } = limits;
    this.#limits = limits;
    this.#leastSize = Math.ceil(size / count);
    const base = Math.max(this.#leastSize, Math.floor(size / GUARANTEED_PART));
    this.#shares = new FairShares({ capacity: size, base });
  }

  /** Returns what is to be given back when the operation has its answer; null if it must not wait. */
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
