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
import type { GivenTime } from '../model/time.ts';
import type { DocumentChange, DocumentRefusal } from './documents.ts';

/** Remembers what a request was answered, so that the same request again gets the same answer (specification 3.7). */
export interface Idempotency {
  /** Token and path. */
  readonly scope: string;
  readonly key: string;
  /** A hash of the request. */
  readonly fingerprint: string;
  /** How long it is remembered. */
  readonly keepMs: number;
  /** Kept with it and given back; for what the store's own results do not hold. At most 64 KiB. */
  readonly note: string;
}

/** One task to be made. The store fills in what is left out of `task`. */
export interface NewTask {
  /** `dueAt` is not part of it: it is `runAt`, or null while the task is held. */
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
  /** What to do when a live task of the worker has the key. Without a key it does not matter. */
  readonly onConflict: 'return' | 'reject' | 'replace' | 'replace_keep_time';
  /**
   * The worker is pushed to: {@link TaskStore.wakeups} tells of the task, whenever it gets a time to start at: when it
   * is made, changed, or held no more. Once the task was claimed, the mode of that lease says it instead.
   */
  readonly wake: boolean;
}

export interface CreateRequest {
  /** At most 500. */
  readonly tasks: readonly NewTask[];
  /** One task that is refused refuses all. */
  readonly atomic: boolean;
  /** How many open tasks the tenant may have, these included. */
  readonly maxOpen: number;
  /** Changes to be made in the same step; one that is refused refuses all. */
  readonly documents?: readonly DocumentChange[];
  readonly idempotency?: Idempotency;
  /** Who changes what is replaced. A task that is made is made by its own `createdBy`, which its first entry names. */
  readonly actor: Actor;
}

/**
 * What became of one task:
 *
 * - `created`
 * - `existing`: `onConflict` was `return`; the task that has the key
 * - `replaced`: the waiting task that has the key, with its new content
 * - `refused` by a task with the same key (`task_key_exists`, with its id), by the quota, because there is no such
 *   worker, or (`not_created`) because another task of an atomic request was refused
 */
export type CreateResult =
  | { readonly kind: 'created' | 'replaced'; readonly task: Task }
  | { readonly kind: 'existing'; readonly task: Task; readonly keyFreeAt: number | null }
  | { readonly kind: 'refused'; readonly reason: 'task_key_exists'; readonly taskId: string }
  | { readonly kind: 'refused'; readonly reason: 'quota_exceeded' | 'worker_missing' | 'not_created' };

/** - `replayed`: the results of the first time and its note · `reused`: the key came with another request before */
export type CreateAnswer =
  | { readonly kind: 'done' | 'replayed'; readonly results: readonly CreateResult[]; readonly note: string }
  | { readonly kind: 'reused' }
  | { readonly kind: 'documents_refused'; readonly index: number; readonly reason: DocumentRefusal };

export type ApplyAnswer =
  /** `versions`: of each document that was put, 0 for those deleted. */
  | { readonly kind: 'done'; readonly versions: readonly number[] }
  | { readonly kind: 'replayed'; readonly note: string }
  | { readonly kind: 'reused' }
  | { readonly kind: 'refused'; readonly index: number; readonly reason: DocumentRefusal };

/** Fields of a task that can be changed; those left out stay as they are. */
export interface TaskPatch {
  readonly type?: string | null;
  readonly priority?: Task['priority'];
  /** The task becomes due then, also when it waits for a further attempt. */
  readonly runAt?: GivenTime;
  readonly expiresAt?: GivenTime | null;
  readonly timeoutMs?: number;
  readonly retry?: Task['retry'];
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly payload?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A change that somebody asks for, and from which statuses it leads where:
 *
 * - `update`: scheduled, retry, paused: stays. running: stays, and only `retry`, `tags` and `metadata` may change; of
 *   `retry` only `maxAttempts` is taken then. One entry `updated`, unless nothing changes. A field of the patch that
 *   equals what the task has is as if left out
 * - `pause`: scheduled, retry → paused
 * - `resume`: paused → scheduled where nothing was attempted yet (`startedAt` is null), else retry; due when it was due
 *   before
 * - `cancel`: scheduled, retry, paused → canceled; running: stays, `cancelRequestedAt` is set, entry `cancel_requested`
 * - `replay`: final → scheduled, due now: attempt, deferrals, result, times of start and end, and the request to
 *   cancel are forgotten, and `expiresAt` where that has come; the last error stays. Takes its key again, refused with
 *   `key_taken` where another task has it
 * - `run`: scheduled, retry → due now, entry `updated`
 * - `expire`: scheduled, retry whose `expiresAt` has come → expired
 *
 * Asking for what is so already (pause a paused task, cancel a canceled one or one that was asked to be, resume a
 * scheduled or retrying one) changes nothing and returns the task. Everything else is refused (`status`). With
 * `pause`, `resume`, `cancel` the patch must be empty. `replay` may bring one, which holds from its first attempt on: the
 * task is due at the patch's `runAt`, and its one entry `replayed` names what changed.
 */
export interface TaskChange {
  readonly action: 'update' | 'pause' | 'resume' | 'cancel' | 'replay' | 'run' | 'expire';
  readonly patch: TaskPatch;
  /** Refused with `version` when the task has another one; null for any. */
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

/** Tasks by creation time; all bounds together. */
export interface TaskQuery {
  readonly workerId: string | null;
  /** Null for every status; never empty. */
  readonly statuses: readonly TaskStatus[] | null;
  readonly scheduleId: string | null;
  /** Included. */
  readonly createdFrom: number | null;
  /** Not included. */
  readonly createdBefore: number | null;
  /** Only ids beyond this one, in the order asked for. */
  readonly after: string | null;
  /** 1 to 1000. */
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/**
 * Tasks that pass a filter, in one of two orders:
 *
 * - `created_at`: by id, as {@link TaskQuery} lists them
 * - `run_at`: by the time at which they are due, then by id. Tasks `scheduled` and `retry` of one worker; `workerId` is
 *   given. Held tasks and those whose `expiresAt` has come are left out. `createdFrom` and `createdBefore` bound the due
 *   time
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
  /** Part of the code or of the message of the last error, in upper or lower case. */
  readonly error: string | null;
}

export interface FoundTasks {
  readonly tasks: readonly Task[];
  /**
   * The search stopped at this place, because it had looked at as many tasks as one search may: more may follow. Null
   * if it stopped at the limit, or at the end of the list.
   */
  readonly behind: string | null;
}

export interface HistoryQuery {
  /** Only entries beyond this number, in the order asked for; null from the beginning, or the end. */
  readonly after: number | null;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Asks for tasks to start. */
export interface ClaimRequest {
  readonly workerId: string;
  /** As many tasks at most as there are ids: 128 random bits each, hex. Each is the lease of one attempt. */
  readonly leaseIds: readonly string[];
  /**
   * How long a lease lasts. `push`: the task's timeout and this much more. `pull`: this long, at most the task's
   * timeout; `extend` lengthens it up to that.
   */
  readonly lease: { readonly mode: 'push' | 'pull'; readonly ms: number };
  /** Attempts of this worker at once. */
  readonly concurrency: number | null;
  readonly rate: Rate | null;
  /** Null: groups have no limit and no order. */
  readonly groups: GroupRules | null;
  /** Attempts of the tenant at once, and how many may start in a second: a bucket of that size. */
  readonly tenantInFlight: number;
  readonly tenantPerSecond: number;
  readonly actor: Actor;
}

/** Asks what would keep the next due task of some workers, or certain tasks, from starting. */
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
  /** When it was due, before it started. */
  readonly dueAt: number;
}

export interface ClaimAnswer {
  readonly tasks: readonly ClaimedTask[];
  /** By the store's clock. */
  readonly now: number;
  /**
   * When to ask again: the next task is due, or a bucket has a token; at once (`now`) when there is more; in a second
   * at the latest when attempts have to end first. Null when nothing waits. The store's hint is set to it.
   */
  readonly nextAt: number | null;
  /**
   * What kept due tasks from being claimed; null when it was only the number of leases, or nothing. `group`: every due
   * task that is left belongs to a group at its limit.
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
 * What keeps tasks from being claimed. `group`: as many tasks of the group run as its rules allow, or with `fifo` another
 * waiting task is before this one.
 */
export type Block = ClaimAnswer['blocked'];

/** What keeps all tasks of a worker from being claimed. */
export type WorkerBlock = Exclude<Block, 'group'>;

/** How an attempt ended. The store decides what it means for the task; see {@link TaskStore.settle}. */
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
  /** The wait until the next attempt, if there is one. */
  readonly delayMs: number;
  /** A counted failure is the last one, whatever attempts are left: the policy's age is over. */
  readonly last: boolean;
  /** JSON text. */
  readonly result: string | null;
  readonly error: Omit<TaskError, 'at'> | null;
  readonly http: HistoryHttp | null;
  /** The worker gets nothing for so long; 0 for no such wish. */
  readonly throttleMs: number;
  readonly actor: Actor;
}

/**
 * - `settled`: the task as it is now
 * - `already`: this lease was settled with the same event before, and nothing has begun since
 * - `lost`: the lease is not (any more) the task's
 */
export type SettleAnswer =
  | { readonly kind: 'settled' | 'already'; readonly task: Task }
  | { readonly kind: 'lost' };

export interface Progress {
  /** 0 to 100; null when not said. */
  readonly percent: number | null;
  readonly note: string | null;
}

export type ExtendAnswer =
  | { readonly kind: 'extended'; readonly until: number; readonly cancelRequested: boolean }
  | { readonly kind: 'lost' };

/** An attempt whose lease is over, or a task that did not start in time. */
export interface Overdue {
  readonly tenant: string;
  readonly leases: readonly { readonly leaseId: string; readonly task: Task }[];
  readonly expired: readonly Task[];
}

/** A hint: the worker may have a task that is due then. */
export interface Wakeup {
  readonly tenant: string;
  readonly workerId: string;
  readonly at: number;
}

export interface PurgeAnswer {
  /** How many tasks were removed. */
  readonly tasks: number;
  /** Something else may be over as well: ask again. False when all was removed. */
  readonly more: boolean;
}

export type StatusCounts = Readonly<Record<TaskStatus, number>>;
