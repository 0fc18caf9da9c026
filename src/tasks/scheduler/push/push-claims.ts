import { Fault } from '../../../base/fault.ts';
import { leaseIds } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimAnswer, ClaimedTask } from '../../store/requests.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { ReadyPage } from '../workers/worker-book.ts';
import type { Turn } from './fair-queue.ts';
import type { PushResults } from './push-results.ts';

/** How much longer than the timeout the lease lasts, for the delivery itself and for writing the result. */
const LEASE_MARGIN_MS = 15_000;

/** Claims tasks that are to be pushed. */
export class PushClaims {
  readonly #thread: ThreadPart<'claim', 'clock' | 'randomBytes'>;
  readonly #results: Pick<PushResults, 'handBack'>;
  readonly #outage: StoreOutage;
  readonly #actor: Actor;

  /** @param actor this process, as history names it */
  constructor(
    thread: ThreadPart<'claim', 'clock' | 'randomBytes'>,
    results: Pick<PushResults, 'handBack'>,
    outage: StoreOutage,
    actor: Actor,
  ) {
    this.#thread = thread;
    this.#results = results;
    this.#outage = outage;
    this.#actor = actor;
  }

  /** @throws (rejects with) Fault if the store fails; tasks that it may have claimed anyway are handed back later */
  async claim({ tenant, workerId, max }: Turn, { worker, limits }: ReadyPage): Promise<ClaimAnswer> {
    const { store, randomBytes } = this.#thread;
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
        actor: this.#actor,
      });
      this.#outage.answered();
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
    for (const claimed of tasks) this.#results.handBack(tenant, claimed);
  }

  /** A task with a single attempt must not lose it to a claim whose answer was lost. */
  #handBackUncertain(tenant: string, leases: readonly string[], timeoutMs: number): void {
    const leaseUntil = this.#thread.clock.nowMs() + timeoutMs + LEASE_MARGIN_MS;
    for (const leaseId of leases) {
      this.#results.handBack(tenant, { leaseId, leaseUntil, uncertain: true });
    }
  }
}
