import { Fault } from '../../../base/fault.ts';
import type { Service } from '../../../base/lifecycle.ts';
import { FairShares } from '../../../base/turns/fair-shares.ts';
import type { ClaimedTask } from '../../store/requests.ts';
import type { TasksThread } from '../thread/tasks-thread.ts';
import type { PullClaims } from './pull-claims.ts';
import type { PullLeases } from './pull-leases.ts';
import { type LeaseRequest, PullLine } from './pull-line.ts';

/** A tenant that is alone may have the total divided by this number of waiting calls; each of k tenants a k-th of that. */
const GUARANTEED_PART = 16;

/** How long a task that another process made may go unnoticed while few workers have calls that wait. */
const LOOK_MS = 1_000;
/** Claims that ask for such tasks, of all workers together: with more of them each is asked for less often. */
const MAX_LOOKS_PER_SECOND = 1_000;

/** Hands out leases to pull workers. A waiting call is woken by signals of this process, and about once a second. */
export class PullDesk implements Service {
  readonly name = 'pull desk';
  /** The leases that were handed out, by this process or another. */
  readonly leases: PullLeases;
  readonly #thread: Pick<TasksThread, 'signals' | 'clock'>;
  readonly #claims: PullClaims;
  readonly #callersChanged: (waiting: boolean) => void;
  /** By tenant and worker; only those with callers. */
  readonly #lines = new Map<string, Map<string, PullLine>>();
  #lineCount = 0;
  readonly #waiting: FairShares;
  /** Calls of the store without a waiting caller. They must end before the store is stopped. */
  readonly #running = new Set<Promise<unknown>>();
  #unlisten: (() => void) | null = null;
  #stopped = false;

  /**
   * @param maxWaiting maximum number of calls that wait, divided between tenants by `FairShares`: one more is `overloaded`
   * @param callersChanged called when the first call begins to wait, and when none waits any longer
   */
  constructor(
    thread: Pick<TasksThread, 'signals' | 'clock'>,
    claims: PullClaims,
    leases: PullLeases,
    maxWaiting: number,
    callersChanged: (waiting: boolean) => void = () => {},
  ) {
    this.#thread = thread;
    this.#claims = claims;
    this.leases = leases;
    this.#callersChanged = callersChanged;
    const base = Math.max(1, Math.floor(maxWaiting / GUARANTEED_PART));
    this.#waiting = new FairShares({ capacity: maxWaiting, base });
  }

  async start(): Promise<void> {
    this.#unlisten ??= this.#thread.signals.listen({
      taskDue: (tenant, workerId, at) => this.#taskDue(tenant, workerId, at),
      roomFor: (tenant, workerId) => this.#roomFor(tenant, workerId),
      workerChanged: (tenant, workerId) => {
        this.#claims.workerChanged(tenant, workerId);
        this.#lines.get(tenant)?.get(workerId)?.tryNow();
      },
      // Calls that wait find it out at their next look.
      limitsChanged: () => this.#claims.limitsChanged(),
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
    this.#claims.stop();
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
        claim: request => this.#claims.claim(request),
        handBack: (request, tasks) => this.#handBack(request, tasks),
        left: () => this.#waiting.give(tenant, 1),
        idle: () => this.#forget(tenant, workerId),
        longestWaitMs: () => Math.max(LOOK_MS, (this.#lineCount / MAX_LOOKS_PER_SECOND) * 1_000),
        clock: this.#thread.clock,
      });
      lines.set(workerId, line);
      if (this.#lineCount++ === 0) this.#callersChanged(true);
    }
    return line;
  }

  #forget(tenant: string, workerId: string): void {
    const lines = this.#lines.get(tenant);
    lines?.get(workerId)?.close();
    if (lines?.delete(workerId) === true && --this.#lineCount === 0) this.#callersChanged(false);
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

  /** If this fails, the leases expire. */
  #handBack({ tenant, actor }: LeaseRequest, tasks: readonly ClaimedTask[]): void {
    for (const { leaseId } of tasks) {
      this.#owned(this.leases.end(tenant, leaseId, { kind: 'release', delayMs: 0 }, actor)).catch(() => {});
    }
  }

  #taskDue(tenant: string, workerId: string, at: number): void {
    const line = this.#lines.get(tenant)?.get(workerId);
    if (line === undefined) return;
    const delayMs = at - this.#thread.clock.nowMs();
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
