import type { GroupRules, Rate } from '../model/documents.ts';
import type {
  Actor,
  HistoryEvent,
  HistoryHttp,
  Task,
  TaskBody,
  TaskError,
  TaskStatus,
} from '../model/task.ts';
import type { TaskContent } from '../model/task-content.ts';
import type { GivenTime } from '../model/time.ts';
import type { DocumentChange, DocumentRefusal } from './documents.ts';

/** Remembers the response to a request, so that a repeated request gets the same response (specification 3.7). */
export interface Idempotency {
  /** Token and path. */
  readonly scope: string;
  readonly key: string;
  /** A hash of the request. */
  readonly fingerprint: string;
  /** How long the response is remembered. */
  readonly keepMs: number;
  /** Stored and returned with the results, for data that these do not contain. At most 64 KiB. */
  readonly note: string;
}

/** A task to create. The store fills in the fields that are left out of `task`. */
export interface NewTask {
  /** `dueAt` is left out: it is `runAt`, or null while the task is held. */
  readonly task: Omit<
    Task,
    | 'status'
    | 'runAt'
    | 'expiresAt'
    | 'dueAt'
    | 'attempt'
    | 'deferrals'
    | 'lastError'
    | 'cancelRequestedAt'
    | 'updatedAt'
    | 'startedAt'
    | 'finishedAt'
    | 'version'
  > & { readonly runAt: GivenTime; readonly expiresAt: GivenTime | null };
  readonly body: Pick<TaskBody, 'payload' | 'headers'>;
  /** The action if a live task of the worker has the key. Ignored without a key. */
  readonly onConflict: 'return' | 'reject' | 'replace' | 'replace_keep_time';
  /**
   * Whether the task sets a wake-up hint for its worker, see {@link TaskStore.wakeups}. True for push workers. The hint is
   * set whenever the task gets a time to start: when it is created, changed or released by its holder. It is also set to now
   * when the task makes room in its group for another one: when its attempt ends, it stops waiting, or its `runAt` becomes
   * later. After a claim, the mode of its lease decides instead.
   */
  readonly wake: boolean;
}

export interface CreateRequest {
  /** At most 500. */
  readonly tasks: readonly NewTask[];
  /** If one task is refused, all are. */
  readonly atomic: boolean;
  /** Maximum number of open tasks of the tenant, including these. */
  readonly maxOpen: number;
  /** Changes to apply in the same step. If one is refused, nothing of the request is done. */
  readonly documents?: readonly DocumentChange[];
  readonly idempotency?: Idempotency;
  /** Actor of changes to replaced tasks. For created tasks, `createdBy` is used. */
  readonly actor: Actor;
}

/**
 * The result for one task:
 *
 * - `created`
 * - `existing`: `onConflict` was `return`; contains the task that has the key
 * - `replaced`: contains the waiting task that has the key, with its new content
 * - `refused` because of a task with the same key (`task_key_exists`, with its id), the quota, a missing worker, or
 *   (`not_created`) because another task of an atomic request was refused
 */
export type CreateResult =
  | { readonly kind: 'created' | 'replaced'; readonly task: Task }
  | { readonly kind: 'existing'; readonly task: Task; readonly keyFreeAt: number | null }
  | { readonly kind: 'refused'; readonly reason: 'task_key_exists'; readonly taskId: string }
  | { readonly kind: 'refused'; readonly reason: 'quota_exceeded' | 'worker_missing' | 'not_created' };

/** - `replayed`: results and note of the first request · `reused`: the key was used for a different request before */
export type CreateAnswer =
  | { readonly kind: 'done' | 'replayed'; readonly results: readonly CreateResult[]; readonly note: string }
  | { readonly kind: 'reused' }
  | { readonly kind: 'documents_refused'; readonly index: number; readonly reason: DocumentRefusal };

export type ApplyAnswer =
  /** `versions`: the version of each document, 0 for deleted ones. */
  | { readonly kind: 'done'; readonly versions: readonly number[] }
  | { readonly kind: 'replayed'; readonly note: string }
  | { readonly kind: 'reused' }
  | { readonly kind: 'refused'; readonly index: number; readonly reason: DocumentRefusal };

/** Fields of a task to change. Fields that are left out do not change. */
export interface TaskPatch extends Partial<TaskContent> {
  /** The task becomes due at this time, even if it waits for a retry. */
  readonly runAt?: GivenTime;
  readonly expiresAt?: GivenTime | null;
  readonly payload?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A change of one task, and the statuses that it applies to:
 *
 * - `update`: scheduled, retry and paused tasks keep their status. Running tasks too, but only `retry`, `tags` and
 *   `metadata` may change, and of `retry` only `maxAttempts`. Writes one entry `updated`, unless nothing changes. Fields of
 *   the patch that equal those of the task are ignored
 * - `pause`: scheduled, retry → paused
 * - `resume`: paused → scheduled if there was no attempt yet (`startedAt` is null), else retry. The due time does not change
 * - `cancel`: scheduled, retry, paused → canceled. A running task keeps its status; `cancelRequestedAt` is set, entry
 *   `cancel_requested`
 * - `replay`: final → scheduled, due now. Resets attempt, deferrals, result, start time, end time and cancel request, and
 *   `expiresAt` if it has passed. Keeps the last error. Takes its key again; refused with `key_taken` if another task has it,
 *   and with `status` if its worker was deleted
 * - `run`: scheduled, retry → due now, entry `updated`
 * - `expire`: scheduled, retry with a past `expiresAt` → expired
 *
 * A change that is already in effect (pausing a paused task, canceling a canceled task or one with a cancel request,
 * resuming a scheduled or retrying task) changes nothing and returns the task. All other combinations are refused with
 * `status`. The patch must be empty for `pause`, `resume` and `cancel`. A patch of `replay` applies from the first attempt
 * on: the task is due at the `runAt` of the patch, and the single entry `replayed` names the changed fields.
 */
export interface TaskChange {
  readonly action: 'update' | 'pause' | 'resume' | 'cancel' | 'replay' | 'run' | 'expire';
  readonly patch: TaskPatch;
  /** Refused with `version` if the task has another version; null for any. */
  readonly expectVersion: number | null;
  readonly actor: Actor;
}

export type ChangeAnswer =
  | { readonly kind: 'done' | 'unchanged'; readonly task: Task }
  | {
      readonly kind: 'refused';
      readonly reason: 'missing' | 'status' | 'version' | 'key_taken';
      readonly task: Task | null;
    };

export type RemoveAnswer = 'removed' | 'missing' | 'running' | 'version';

/** Lists tasks by creation time. All conditions apply together. */
export interface TaskQuery {
  readonly workerId: string | null;
  /** Null for all statuses; never empty. */
  readonly statuses: readonly TaskStatus[] | null;
  readonly scheduleId: string | null;
  /** Included. */
  readonly createdFrom: number | null;
  /** Not included. */
  readonly createdBefore: number | null;
  /** Only ids after this one, in the order of the query. */
  readonly after: string | null;
  /** 1 to 1000. */
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/**
 * Lists tasks that match a filter, in one of two orders:
 *
 * - `created_at`: by id, like {@link TaskQuery}
 * - `run_at`: by due time, then by id. Lists `scheduled` and `retry` tasks of one worker; `workerId` is required. Held and
 *   expired tasks are left out. `createdFrom` and `createdBefore` are bounds of the due time
 *
 * `after` and {@link FoundTasks.behind} are places: an id, or `<due time> <id>` with `run_at`.
 */
export interface TaskSearch extends TaskQuery {
  readonly by: 'created_at' | 'run_at';
  readonly key: string | null;
  readonly type: string | null;
  /** One of the tags of the task. */
  readonly tag: string | null;
  readonly group: string | null;
  /** Part of the code or of the message of the last error, without regard to case. */
  readonly error: string | null;
}

export interface FoundTasks {
  readonly tasks: readonly Task[];
  /**
   * The place at which the search stopped because it had read the maximum number of tasks; more may follow. Null if it
   * stopped at the limit or at the end of the list.
   */
  readonly behind: string | null;
}

export interface HistoryQuery {
  /** Only entries after this number, in the order of the query; null for the first ones. */
  readonly after: number | null;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Asks for tasks to start. */
export interface ClaimRequest {
  readonly workerId: string;
  /** Ids of leases, one for each task to start at most: 128 random bits each, in hex. */
  readonly leaseIds: readonly string[];
  /**
   * Duration of the leases. `push`: the timeout of the task plus `ms`. `pull`: `ms`, at most the timeout of the task;
   * `extend` can extend it up to that.
   */
  readonly lease: { readonly mode: 'push' | 'pull'; readonly ms: number };
  /** Maximum number of running attempts of this worker; null for no limit. */
  readonly concurrency: number | null;
  readonly rate: Rate | null;
  /** Null: groups have no limit and no order. */
  readonly groups: GroupRules | null;
  /** Maximum number of running attempts of the tenant, and of starts per second (a bucket of that size). */
  readonly tenantInFlight: number;
  readonly tenantPerSecond: number;
  readonly actor: Actor;
}

/** Asks what would block the next due task of some workers, or certain tasks. */
export interface BlockQuery extends Pick<ClaimRequest, 'tenantInFlight' | 'tenantPerSecond'> {
  /** At most 200. */
  readonly workers: readonly BlockedWorker[];
}

export interface BlockedWorker extends Pick<ClaimRequest, 'workerId' | 'concurrency' | 'rate'> {
  /** A due task of the worker, whose group may have rules; null for any task without a group. */
  readonly inGroup: GroupPlace | null;
}

/** A waiting task in its group. */
export interface GroupPlace {
  readonly group: string;
  readonly rules: GroupRules;
  /** Id of the task. It matters only if the rules say `fifo`. */
  readonly taskId: string;
}

export interface ClaimedTask {
  readonly task: Task;
  readonly body: TaskBody;
  readonly leaseId: string;
  readonly leaseUntil: number;
  /** When the task was due before it started. */
  readonly dueAt: number;
}

export interface ClaimAnswer {
  readonly tasks: readonly ClaimedTask[];
  /** By the store's clock. */
  readonly now: number;
  /**
   * When to claim again: when the next task is due or a bucket has a token; now if more tasks are due; within a second if
   * attempts must end first. Null if no task waits. The wake-up hint of the worker is set to this time.
   */
  readonly nextAt: number | null;
  /**
   * The reason why due tasks were blocked; null for no reason or only the number of leases. `group`: all remaining due
   * tasks belong to groups at their limit.
   */
  readonly blocked:
    | 'concurrency'
    | 'rate'
    | 'throttled'
    | 'tenant_in_flight'
    | 'tenant_rate'
    | 'group'
    | null;
}

/**
 * The reason why tasks cannot be claimed. `group`: the group is at its limit, or, with `fifo`, another waiting task
 * precedes this one.
 */
export type Block = ClaimAnswer['blocked'];

/** The reason why all tasks of a worker are blocked. */
export type WorkerBlock = Exclude<Block, 'group'>;

/** How an attempt ended. For the effect on the task, see {@link TaskStore.settle}. */
export interface Settlement {
  readonly leaseId: string;
  readonly event: Extract<
    HistoryEvent,
    | 'succeeded'
    | 'attempt_failed'
    | 'timed_out'
    | 'lease_expired'
    | 'deferred'
    | 'released'
    | 'no_retry'
    | 'canceled'
  >;
  /** Delay before the next attempt, if there is one. */
  readonly delayMs: number;
  /** A counted failure is final even if attempts are left, because the maximum age of the policy is reached. */
  readonly last: boolean;
  /** JSON text. */
  readonly result: string | null;
  readonly error: Omit<TaskError, 'at'> | null;
  readonly http: HistoryHttp | null;
  /** The worker receives no tasks for this time; 0 for no throttling. */
  readonly throttleMs: number;
  readonly actor: Actor;
}

/**
 * - `settled`: contains the task after the change, and when its attempt started; null if an older version started it
 * - `already`: this lease was settled with the same event before, and no new attempt has started
 * - `lost`: the lease does not belong to a running attempt
 */
export type SettleAnswer =
  | { readonly kind: 'settled'; readonly task: Task; readonly beganAt: number | null }
  | { readonly kind: 'already'; readonly task: Task }
  | { readonly kind: 'lost' };

export interface Progress {
  /** 0 to 100; null if unknown. */
  readonly percent: number | null;
  readonly note: string | null;
  /** Who says so. */
  readonly actor: Actor;
}

export type ExtendAnswer =
  | { readonly kind: 'extended'; readonly until: number; readonly cancelRequested: boolean }
  | { readonly kind: 'lost' };

/** Attempts whose lease has expired and tasks that did not start in time, of one tenant. */
export interface Overdue {
  readonly tenant: string;
  readonly leases: readonly { readonly leaseId: string; readonly task: Task }[];
  readonly expired: readonly Task[];
}

/** A hint that the worker may have a due task at this time. */
export interface Wakeup {
  readonly tenant: string;
  readonly workerId: string;
  readonly at: number;
}

export interface PurgeAnswer {
  /** Number of removed tasks. */
  readonly tasks: number;
  /** More may have to be removed: call again. False if everything was removed. */
  readonly more: boolean;
}

export type StatusCounts = Readonly<Record<TaskStatus, number>>;

/** Due tasks of a tenant. */
export interface DueTasks {
  readonly count: number;
  /** When the oldest one became due; null without due tasks. */
  readonly oldestAt: number | null;
}
