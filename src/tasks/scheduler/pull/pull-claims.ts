import type { StartLimit, TenantLimits, Worker } from '../../model/documents.ts';
import { leaseIds } from '../../model/ids.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { StartLimits } from '../attempts/start-limits.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { LeaseRequest } from './pull-line.ts';

/** Claims tasks of pull workers from the store, within the limits of the tenant, the worker and the decision service. */
export class PullClaims {
  readonly #thread: ThreadPart<'claim', 'directory' | 'statistics' | 'clock' | 'randomBytes' | 'limits'>;
  readonly #startLimits: StartLimits;

  constructor(
    thread: ThreadPart<'claim', 'directory' | 'statistics' | 'clock' | 'randomBytes' | 'limits'>,
    startLimits: StartLimits,
  ) {
    this.#thread = thread;
    this.#startLimits = startLimits;
  }

  /** The worker may have another limit of the decision service, or none. */
  workerChanged(tenant: string, workerId: string): void {
    this.#startLimits.forget(tenant, workerId);
  }

  /** Limits of the decision service may have changed. */
  limitsChanged(): void {
    this.#startLimits.limitsChanged();
  }

  /** Gives back permissions of the decision service that were not used. To be called when no claim is in progress. */
  stop(): void {
    this.#startLimits.stop();
  }

  /**
   * Null while the worker, or its account, is paused or deleted.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async claim(request: LeaseRequest): Promise<ClaimAnswer | null> {
    const { directory, limits } = this.#thread;
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
    const limits = this.#startLimits;
    const later = (): ClaimAnswer => {
      const now = this.#thread.clock.nowMs();
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
    const { store, statistics, randomBytes } = this.#thread;
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
