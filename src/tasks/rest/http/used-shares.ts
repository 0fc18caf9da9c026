import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../base/clock.ts';
import type { Signals } from '../../model/signals.ts';

/** The dispatcher says it every second for as long as it is so. */
const VALID_MS = 2_500;
const MAX_TENANTS = 10_000;

/** The tenants whose tasks wait because the tenant has its share of the deliveries of this process, as last heard. */
export class UsedShares {
  readonly #clock: Clock;
  /** By tenant, the time of the last signal. */
  readonly #heardAt = new LRUCache<string, number>({ max: MAX_TENANTS });

  constructor(clock: Clock, signals: Signals) {
    this.#clock = clock;
    signals.listen({ shareUsed: tenant => this.#heardAt.set(tenant, clock.nowMs()) });
  }

  has(tenant: string): boolean {
    const heardAt = this.#heardAt.get(tenant);
    // A clock that was set back must not make it last.
    return heardAt !== undefined && Math.abs(this.#clock.nowMs() - heardAt) <= VALID_MS;
  }
}
