import type { Clock } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import { FairShares } from '../../../base/turns/fair-shares.ts';
import type { StartLimit, TenantLimits, Worker } from '../../model/documents.ts';
import { leaseIds } from '../../model/ids.ts';
import { isPolicyOver, retryWaitMs } from '../../model/retry-policy.ts';
import { type Signals, tellEnd } from '../../model/signals.ts';
import type { Actor, Task } from '../../model/task.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { Directory } from '../../store/directory.ts';
import type {
  ClaimAnswer,
  ClaimedTask,
  ExtendAnswer,
  Progress,
  SettleAnswer,
  Settlement,
} from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { type LimitAsker, StartLimits } from '../attempts/start-limits.ts';
import { type LeaseRequest, PullLine } from './pull-line.ts';

export interface PullFailure {
  readonly code: string;
  readonly message: string;
  /** False: the task fails for good. */
  readonly retry: boolean;
  /** Minimum delay until the next attempt; null for the delay of the policy. */
  readonly retryAfterMs: number | null;
}

interface PullDeskParts {
  readonly store: Pick<TaskStore, 'claim' | 'settle' | 'extend' | 'leased'>;
  readonly directory: Directory;
  readonly signals: Signals;
  readonly statistics: TaskStatistics;
  readonly limitAsker: LimitAsker;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Buffer;
  /** Default limits of tenants, unless their operator has changed them. */
  readonly limits: TenantLimits;
  /** Maximum number of calls that wait, divided between tenants by `FairShares`: one more is `overloaded`. */
  readonly maxWaiting: number;
  /** Called when the first call begins to wait, and when none waits any longer. */
  readonly callersChanged?: (waiting: boolean) => void;
}

type Ending = Omit<Settlement, 'leaseId' | 'actor' | 'http' | 'throttleMs'>;

const NOTHING: Omit<Ending, 'event'> = { delayMs: 0, last: false, result: null, error: null };

/** A tenant that is alone may have the total divided by this number of waiting calls; each of k tenants a k-th of that. */
const GUARANTEED_PART = 16;

/** How long a task that another process made may go unnoticed while few workers have calls that wait. */
const LOOK_MS = 1_000;
/** Claims that ask for such tasks, of all workers together: with more of them each is asked for less often. */
const MAX_LOOKS_PER_SECOND = 1_000;

/** Leases of pull workers. A waiting call is woken by signals of this process, and about once a second. */
export class PullDesk implements Service {
  readonly name = 'pull desk';
  readonly #parts: PullDeskParts;
  /** By tenant and worker; only those with callers. */
  readonly #lines = new Map<string, Map<string, PullLine>>();
  #lineCount = 0;
  readonly #waiting: FairShares;
  readonly #startLimits: StartLimits;
  /** Calls of the store without a waiting caller. They must end before the store is stopped. */
  readonly #running = new Set<Promise<unknown>>();
  #unlisten: (() => void) | null = null;
  #stopped = false;

  constructor(parts: PullDeskParts) {
    this.#parts = parts;
    this.#startLimits = new StartLimits({ ...parts, asker: parts.limitAsker });
    const capacity = parts.maxWaiting;
    this.#waiting = new FairShares({ capacity, base: Math.max(1, Math.floor(capacity / GUARANTEED_PART)) });
  }

  async start(): Promise<void> {
    this.#unlisten ??= this.#parts.signals.listen({
      taskDue: (tenant, workerId, at) => this.#taskDue(tenant, workerId, at),
      roomFor: (tenant, workerId) => this.#roomFor(tenant, workerId),
      workerChanged: (tenant, workerId) => {
        this.#startLimits.forget(tenant, workerId);
        this.#lines.get(tenant)?.get(workerId)?.tryNow();
      },
      accountChanged: tenant => {
        for (const line of this.#lines.get(tenant)?.values() ?? []) line.tryNow();
      },
    });
  }

  /** Whether the service is shutting down and hands out no more leases. Existing leases can still be ended. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Answers all calls that wait, and hands back what is being claimed for them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlisten?.();
    this.#unlisten = null;
    for (const lines of [...this.#lines.values()]) for (const line of [...lines.values()]) line.close();
    this.#lines.clear();
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    this.#startLimits.stop();
  }

  /**
   * Up to `max` tasks of the worker, waiting for the first of them at most `waitMs`. Empty when none came, the caller
   * has gone, or the service stops.
   *
   * @throws (rejects with) what `allowed` rejects with: a caller that may no longer lease gets no task
   */
  async lease(request: LeaseRequest): Promise<readonly ClaimedTask[]> {
    if (this.#stopped) return [];
    if (this.#waiting.roomFor(request.tenant) < 1) {
      throw new Fault(
        'overloaded',
        'too many calls are waiting for tasks; retry later or with fewer concurrent calls',
      );
    }
    this.#waiting.take(request.tenant, 1);
    return this.#line(request.tenant, request.workerId).wait(request);
  }

  /** Lengthens a lease to `extendMs` from now; null: to what the worker's leases have. */
  async heartbeat(
    tenant: string,
    leaseId: string,
    extendMs: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    const { store } = this.#parts;
    const ms = extendMs ?? (await this.#workersLeaseMs(tenant, leaseId));
    return store.extend(tenant, leaseId, ms, progress);
  }

  complete(tenant: string, leaseId: string, result: string | null, worker: string): Promise<SettleAnswer> {
    return this.#settle(tenant, leaseId, worker, { ...NOTHING, event: 'succeeded', result });
  }

  async fail(tenant: string, leaseId: string, failure: PullFailure, worker: string): Promise<SettleAnswer> {
    const { code, message } = failure;
    const error = { code, message };
    if (!failure.retry) {
      return this.#settle(tenant, leaseId, worker, { ...NOTHING, event: 'no_retry', error });
    }
    const task = await this.#parts.store.leased(tenant, leaseId);
    const waiting = task === null ? NOTHING : { ...NOTHING, ...this.#wait(task, failure.retryAfterMs) };
    return this.#settle(tenant, leaseId, worker, { ...waiting, event: 'attempt_failed', error });
  }

  release(tenant: string, leaseId: string, delayMs: number, worker: string): Promise<SettleAnswer> {
    return this.#settle(tenant, leaseId, worker, { ...NOTHING, event: 'released', delayMs });
  }

  /** The task of a live lease. */
  leased(tenant: string, leaseId: string): Promise<Task | null> {
    return this.#parts.store.leased(tenant, leaseId);
  }

  #line(tenant: string, workerId: string): PullLine {
    let lines = this.#lines.get(tenant);
    if (lines === undefined) {
      lines = new Map();
      this.#lines.set(tenant, lines);
    }
    let line = lines.get(workerId);
    if (line === undefined) {
      line = new PullLine({
        running: claims => void this.#owned(claims),
        claim: request => this.#claim(request),
        handBack: (request, tasks) => this.#handBack(request, tasks),
        left: () => this.#waiting.give(tenant, 1),
        idle: () => this.#forget(tenant, workerId),
        longestWaitMs: () => Math.max(LOOK_MS, (this.#lineCount / MAX_LOOKS_PER_SECOND) * 1_000),
        clock: this.#parts.clock,
      });
      lines.set(workerId, line);
      if (this.#lineCount++ === 0) this.#parts.callersChanged?.(true);
    }
    return line;
  }

  #forget(tenant: string, workerId: string): void {
    const lines = this.#lines.get(tenant);
    lines?.get(workerId)?.close();
    if (lines?.delete(workerId) === true && --this.#lineCount === 0) this.#parts.callersChanged?.(false);
    if (lines?.size === 0) this.#lines.delete(tenant);
  }

  async #owned<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Null while the worker, or its account, is paused or gone. */
  async #claim(request: LeaseRequest): Promise<ClaimAnswer | null> {
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
    const limits = this.#startLimits;
    const later = (): ClaimAnswer => {
      const now = this.#parts.clock.nowMs();
      return { tasks: [], now, nextAt: now + limits.waitMs(tenant, workerId), blocked: null };
    };
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
    { tenant, workerId, instance, ...request }: LeaseRequest,
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
      actor: { type: 'worker', id: instance },
    });
    for (const { dueAt } of answer.tasks) statistics.dispatchLag.record(Math.max(0, answer.now - dueAt));
    return answer;
  }

  /** If this fails, the leases expire. */
  #handBack({ tenant, instance }: LeaseRequest, tasks: readonly ClaimedTask[]): void {
    for (const { leaseId } of tasks) {
      this.#owned(this.release(tenant, leaseId, 0, instance)).catch(() => {});
    }
  }

  async #workersLeaseMs(tenant: string, leaseId: string): Promise<number | null> {
    const { store, directory } = this.#parts;
    const task = await store.leased(tenant, leaseId);
    if (task === null) return null;
    return (await directory.worker(tenant, task.workerId))?.body.leaseMs ?? null;
  }

  #wait(task: Task, retryAfterMs: number | null): Pick<Ending, 'delayMs' | 'last'> {
    const { random, clock } = this.#parts;
    const delayMs = Math.max(retryWaitMs(task.retry, task.attempt, random), retryAfterMs ?? 0);
    return { delayMs, last: isPolicyOver(task.retry, task.startedAt, clock.nowMs() + delayMs) };
  }

  async #settle(tenant: string, leaseId: string, worker: string, ending: Ending): Promise<SettleAnswer> {
    const { store, signals, statistics, clock } = this.#parts;
    const actor: Actor = { type: 'worker', id: worker };
    const settlement: Settlement = { ...ending, leaseId, http: null, throttleMs: 0, actor };
    const [answer] = await store.settle(tenant, [settlement]);
    if (answer.kind === 'lost') statistics.settleRejected.add(1);
    else if (answer.kind === 'settled') tellEnd(signals, tenant, answer.task, clock.nowMs());
    return answer;
  }

  #taskDue(tenant: string, workerId: string, at: number): void {
    const line = this.#lines.get(tenant)?.get(workerId);
    if (line === undefined) return;
    const delayMs = at - this.#parts.clock.nowMs();
    if (delayMs <= 0) line.tryNow();
    else line.tryIn(delayMs);
  }

  #roomFor(tenant: string, workerId: string): void {
    for (const [id, line] of this.#lines.get(tenant) ?? []) {
      const ofWorker = line.blocked === 'concurrency' || line.blocked === 'group';
      if (line.blocked === 'tenant_in_flight' || (ofWorker && id === workerId)) line.tryNow();
    }
  }
}
