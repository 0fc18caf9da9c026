import type { Clock } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import { leaseIds } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimAnswer, ClaimedTask } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { ReadyPage } from '../workers/worker-book.ts';
import type { Turn } from './fair-queue.ts';
import type { PushResults } from './push-results.ts';

interface PushClaimsParts {
  readonly store: Pick<TaskStore, 'claim'>;
  readonly results: Pick<PushResults, 'handBack'>;
  readonly outage: StoreOutage;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Buffer;
  /** This process, as history names it. */
  readonly actor: Actor;
}

/** How much longer than the timeout the lease lasts, for the delivery itself and for writing the result. */
const LEASE_MARGIN_MS = 15_000;

/** Claims tasks that are to be pushed. */
export class PushClaims {
  readonly #parts: PushClaimsParts;

  constructor(parts: PushClaimsParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault if the store fails; tasks that it may have claimed anyway are handed back later */
  async claim({ tenant, workerId, max }: Turn, { worker, limits }: ReadyPage): Promise<ClaimAnswer> {
    const { store, outage, actor, randomBytes } = this.#parts;
    const leases = leaseIds(Math.min(max, worker.concurrency ?? max), randomBytes);
    try {
      const answer = await store.claim(tenant, {
        workerId,
        leaseIds: leases,
        lease: { mode: 'push', ms: LEASE_MARGIN_MS },
        concurrency: worker.concurrency,
        rate: worker.rate,
        groups: worker.groups ?? null,
        tenantInFlight: limits.inFlight,
        tenantPerSecond: limits.dispatchPerSecond,
        actor,
      });
      outage.answered();
      return answer;
    } catch (failure) {
      if (failure instanceof Fault && failure.code === 'store_failed') {
        this.#handBackUncertain(tenant, leases, worker.timeoutMs);
      }
      throw failure;
    }
  }

  /** Hands back tasks that were claimed and are not started after all. */
  handBack(tenant: string, tasks: readonly ClaimedTask[]): void {
    for (const claimed of tasks) this.#parts.results.handBack(tenant, claimed);
  }

  /** A task with a single attempt must not lose it to a claim whose answer was lost. */
  #handBackUncertain(tenant: string, leases: readonly string[], timeoutMs: number): void {
    const leaseUntil = this.#parts.clock.nowMs() + timeoutMs + LEASE_MARGIN_MS;
    for (const leaseId of leases) {
      this.#parts.results.handBack(tenant, { leaseId, leaseUntil, uncertain: true });
    }
  }
}
