import { LRUCache } from 'lru-cache';
import type { PullDesk } from '../../scheduler/pull/pull-desk.ts';

const MAX_LEASES = 20_000;

/**
 * Whose leases are whose, for callers that come with the token of a worker. Those that were taken here are known; of
 * others the store is asked. What a lease is of never changes, so nothing here grows old.
 */
export class LeaseOwners {
  readonly #pullDesk: PullDesk;
  readonly #known = new LRUCache<string, string>({ max: MAX_LEASES });

  constructor(pullDesk: PullDesk) {
    this.#pullDesk = pullDesk;
  }

  took(leaseId: string, workerId: string): void {
    this.#known.set(leaseId, workerId);
  }

  /** False for a lease that is live and another worker's. Of one that is over, only those taken here are told. */
  async mayBeOf(tenant: string, leaseId: string, workerId: string): Promise<boolean> {
    const known = this.#known.get(leaseId);
    if (known !== undefined) return known === workerId;
    const task = await this.#pullDesk.leased(tenant, leaseId);
    return task === null || task.workerId === workerId;
  }
}
