import type { Clock } from '../../../base/clock.ts';
import type { StartLimit, TenantLimits, Worker } from '../../model/documents.ts';
import { leaseIds } from '../../model/ids.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { Directory } from '../../store/directory.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StartLimits } from '../attempts/start-limits.ts';
import type { LeaseRequest } from './pull-line.ts';

interface PullClaimsParts {
  readonly store: Pick<TaskStore, 'claim'>;
  readonly directory: Directory;
  readonly startLimits: StartLimits;
  readonly statistics: TaskStatistics;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly randomBytes: (count: number) => Buffer;
  /** Default limits of tenants, unless their operator has changed them. */
  readonly limits: TenantLimits;
}

/** Claims tasks of pull workers from the store, within the limits of the tenant, the worker and the decision service. */
export class PullClaims {
  readonly #parts: PullClaimsParts;

  constructor(parts: PullClaimsParts) {
    this.#parts = parts;
  }

  /** The worker may have another limit of the decision service, or none. */
  workerChanged(tenant: string, workerId: string): void {
    this.#parts.startLimits.forget(tenant, workerId);
  }

  /** Limits of the decision service may have changed. */
  limitsChanged(): void {
    this.#parts.startLimits.limitsChanged();
  }

  /** Gives back permissions of the decision service that were not used. To be called when no claim is in progress. */
  stop(): void {
    this.#parts.startLimits.stop();
  }

  /**
   * Null while the worker, or its account, is paused or deleted.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async claim(request: LeaseRequest): Promise<ClaimAnswer | null> {
    const { directory, limits } = this.#parts;
    const { tenant, workerId } = request;
    const [account, document] = await Promise.all([
      directory.account(tenant),
      directory.worker(tenant, workerId),
    ]);
    if (account?.body.status !== 'active' || document === null) return null;
    const worker = document.body;
    if (worker.mode !== 'pull' || worker.paused) return null;
    const bounds = { ...limits, ...account.body.limits };
    const { limit = null } = worker;
    if (limit !== null) return this.#claimWithin(limit, request, worker, bounds);
    return this.#claimUpTo(request.max, request, worker, bounds);
  }

  /** For a worker whose starts the decision service limits, which is not asked before a task is due. */
  async #claimWithin(
    limit: StartLimit,
    request: LeaseRequest,
    worker: Worker,
    bounds: TenantLimits,
  ): Promise<ClaimAnswer> {
    const { tenant, workerId, max } = request;
    const limits = this.#parts.startLimits;
    const later = (): ClaimAnswer => {
      const now = this.#parts.clock.nowMs();
      return { tasks: [], now, nextAt: now + limits.waitMs(tenant, workerId), blocked: null };
    };
    limits.limitIs({ tenant, workerId, limit });
    if (limits.waitMs(tenant, workerId) > 0) return later();
    const seen = await this.#claimUpTo(0, request, worker, bounds);
    if (seen.nextAt === null || seen.nextAt > seen.now) return seen;
    await limits.ask({ tenant, workerId, limit }, max);
    const granted = limits.take(tenant, workerId, max);
    if (granted === 0) return later();
    const answer = await limits.during(tenant, workerId, () =>
      this.#claimUpTo(granted, request, worker, bounds),
    );
    const { tasks, now, nextAt, blocked } = answer;
    limits.started(tenant, workerId, tasks.length, blocked === null && nextAt !== null && nextAt <= now);
    return answer;
  }

  async #claimUpTo(
    max: number,
    { tenant, workerId, actor, ...request }: LeaseRequest,
    worker: Worker,
    bounds: TenantLimits,
  ): Promise<ClaimAnswer> {
    const { store, statistics, randomBytes } = this.#parts;
    const answer = await store.claim(tenant, {
      workerId,
      leaseIds: leaseIds(max, randomBytes),
      lease: { mode: 'pull', ms: request.leaseMs ?? worker.leaseMs },
      concurrency: worker.concurrency,
      rate: worker.rate,
      groups: worker.groups ?? null,
      tenantInFlight: bounds.inFlight,
      tenantPerSecond: bounds.dispatchPerSecond,
      actor,
    });
    for (const { dueAt } of answer.tasks) statistics.dispatchLag.record(Math.max(0, answer.now - dueAt));
    return answer;
  }
}
