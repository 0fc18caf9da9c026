import type { Task } from '../../model/task.ts';
import type { ClaimedTask, ExtendAnswer, Progress, SettleAnswer } from '../../store/requests.ts';

/** What pull workers do with leases. */
export interface PullDesk {
  /** The service stops: nobody gets a lease any more. What is leased can still be ended. */
  readonly stopped: boolean;
  /**
   * Up to `max` tasks of the worker, waiting for the first of them at most `waitMs`. Empty when none came, the caller
   * has gone, or the service stops.
   *
   * @throws (rejects with) what `allowed` rejects with: a caller that may no longer lease gets no task
   */
  lease(request: LeaseRequest): Promise<readonly ClaimedTask[]>;
  /** Lengthens a lease to `extendMs` from now; null: to what the worker's leases have. */
  heartbeat(
    tenant: string,
    leaseId: string,
    extendMs: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer>;
  complete(tenant: string, leaseId: string, result: string | null, worker: string): Promise<SettleAnswer>;
  fail(tenant: string, leaseId: string, failure: PullFailure, worker: string): Promise<SettleAnswer>;
  release(tenant: string, leaseId: string, delayMs: number, worker: string): Promise<SettleAnswer>;
  /** The task of a live lease. */
  leased(tenant: string, leaseId: string): Promise<Task | null>;
}

export interface LeaseRequest {
  readonly tenant: string;
  readonly workerId: string;
  readonly max: number;
  readonly waitMs: number;
  /** Null: the worker's. */
  readonly leaseMs: number | null;
  /** What the caller calls itself; the actor of the history. */
  readonly instance: string;
  readonly gone: AbortSignal;
  /**
   * Checks again that the caller may lease. Its access may have been revoked while it waited.
   * @throws (rejects with) what the caller is answered instead of tasks
   */
  readonly allowed: () => Promise<void>;
}

export interface PullFailure {
  readonly code: string;
  readonly message: string;
  /** False: the task fails for good. */
  readonly retry: boolean;
  /** At least so long until the next attempt; null for the policy's wait. */
  readonly retryAfterMs: number | null;
}
