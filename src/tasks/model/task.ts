import type { RetryPolicy } from './retry-policy.ts';

/** Every status; the last four are final. What leads from one to another: `TaskStore` in `../store/task-store.ts`. */
export const TASK_STATUSES = [
  'scheduled',
  'running',
  'retry',
  'paused',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Statuses that a task leaves only when it is replayed. */
export const FINAL_STATUSES = ['succeeded', 'failed', 'canceled', 'expired'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

export function isFinal(status: TaskStatus): status is FinalStatus {
  return (FINAL_STATUSES as readonly string[]).includes(status);
}

/** Priorities, the most urgent first; the place of one in this list is its band. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low', 'bulk'] as const;
export type Priority = (typeof PRIORITIES)[number];

/**
 * By how much tasks of a band stand back, in milliseconds: a worker's tasks are ordered by due time plus penalty, ties
 * by id. So a task is overtaken only by work that became due within its penalty, and none waits for ever.
 */
export const BAND_PENALTIES_MS: Readonly<Record<Priority, number>> = {
  critical: 0,
  high: 30_000,
  normal: 60_000,
  low: 120_000,
  bulk: 300_000,
};

/** Why the last attempt did not succeed. */
export interface TaskError {
  /** A word for programs: `http_5xx`, `timeout`, `lease_expired`, or what a pull worker says. At most 64 characters. */
  readonly code: string;
  /** At most 1000 characters. */
  readonly message: string;
  readonly httpStatus?: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Another worker gets a task when a task has ended (a callback). */
export interface OnFinish {
  /** Id of that worker. */
  readonly workerId: string;
  /** With which of these statuses: at least one, each once. */
  readonly events: readonly FinalStatus[];
}

/** Who did something. */
export interface Actor {
  /** `task`: a callback was created because that task ended. */
  readonly type: 'user' | 'token' | 'schedule' | 'task' | 'dispatcher' | 'worker' | 'system';
  readonly id: string;
}

/**
 * A task as stores keep it, but for what is large ({@link TaskBody}). Times are milliseconds since the epoch, null where
 * there is none. Everything that a task needs of its worker is copied when the task is made: later changes of the
 * worker's defaults concern later tasks.
 */
export interface Task {
  /** `tsk_` and a ULID. Its time is {@link createdAt}, so ids sort as tasks were made. */
  readonly id: string;
  /** Id of the worker, `wrk_…`. */
  readonly workerId: string;
  /** Name of the worker, which never changes while it has tasks. */
  readonly worker: string;
  readonly type: string | null;
  readonly status: TaskStatus;
  readonly priority: Priority;
  /** Not to start before. */
  readonly runAt: number;
  /**
   * When it is due; null while it runs, when its status is final, and while it is held ({@link heldBy}). A paused task
   * keeps it.
   */
  readonly dueAt: number | null;
  /** Not started by then: it expires. */
  readonly expiresAt: number | null;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  /** Attempts that were started and counted. */
  readonly attempt: number;
  /** Attempts that ended without being counted (deferred or released). */
  readonly deferrals: number;
  readonly key: string | null;
  /** How long the key stays taken after the end, in milliseconds. */
  readonly keyTtlMs: number;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly lastError: TaskError | null;
  readonly cancelRequestedAt: number | null;
  /** Tasks of a worker with the same group are limited, or ordered, together (`ClaimRequest.groups`). 1 to 128 characters. */
  readonly group: string | null;
  readonly scheduleId: string | null;
  /** The nominal time of the schedule. */
  readonly scheduledFor: number | null;
  /** Another task that must have reached a final status first; null when there is none (any more). */
  readonly heldBy: string | null;
  /** Null for no callback, and in callbacks themselves. */
  readonly onFinish: OnFinish | null;
  readonly createdBy: Actor;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Start of the first attempt. */
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** Grows by one with each change, from 1. */
  readonly version: number;
}

/** The id of the task whose end a callback tells of; null for all other tasks. */
export function callbackOf({ createdBy }: Pick<Task, 'createdBy'>): string | null {
  return createdBy.type === 'task' ? createdBy.id : null;
}

/** The large part of a task. Lists and status changes leave it alone. */
export interface TaskBody {
  /** JSON text, as it is sent, or bytes (`./payload.ts`); null when the task has no payload. */
  readonly payload: string | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null until the task has succeeded with one. */
  readonly result: string | null;
}

/** Approximate size of a body in a store and in an answer, in bytes. Its headers are small. */
export function bodyBytes({ payload, result }: Pick<TaskBody, 'payload' | 'result'>): number {
  return Buffer.byteLength(payload ?? '') + Buffer.byteLength(result ?? '');
}
