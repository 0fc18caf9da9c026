import type { Clock } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import { leaseIds } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { StoreTime } from '../health/store-time.ts';
import type { Turn } from './fair-queue.ts';
import type { PushAttempts, ReadyPage } from './push-attempts.ts';

interface PushClaimsParts {
  readonly store: Pick<TaskStore, 'claim'>;
  readonly attempts: Pick<PushAttempts, 'handBack'>;
  readonly outage: StoreOutage;
  readonly time: StoreTime;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Buffer;
  /** This process, as history names it. */
  readonly actor: Actor;
}

/** How much longer than its timeout an attempt has the task: for the way there, and to tell the store. */
const LEASE_MARGIN_MS = 15_000;

/** Claims tasks that are to be pushed. */
export class PushClaims {
  readonly #parts: PushClaimsParts;

  constructor(parts: PushClaimsParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault when the store fails; what it may have claimed all the same is handed back later */
  async claim({ tenant, workerId, max }: Turn, { worker, limits }: ReadyPage): Promise<ClaimAnswer> {
    const { store, clock, time, outage, actor, randomBytes } = this.#parts;
    const leases = leaseIds(Math.min(max, worker.concurrency ?? max), randomBytes);
    const askedMs = clock.nowMs();
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
      time.learn(answer.now, askedMs);
      outage.answered();
      return answer;
    } catch (failure) {
      if (failure instanceof Fault && failure.code === 'store_failed') {
        this.#handBack(tenant, leases, worker.timeoutMs);
      }
      throw failure;
    }
  }

  /** A task that only has one attempt must not lose it to a call that nobody heard the answer of. */
  #handBack(tenant: string, leases: readonly string[], timeoutMs: number): void {
    const leaseUntil = this.#parts.time.nowMs() + timeoutMs + LEASE_MARGIN_MS;
    for (const leaseId of leases) {
      this.#parts.attempts.handBack(tenant, { leaseId, leaseUntil, unheard: true });
    }
  }
}
