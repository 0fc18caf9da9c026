import type { DocumentKind } from '../model/documents.ts';
import type { HistoryEntry, Task, TaskBody } from '../model/task.ts';
import type { AnswerPage, Copy, CopyPage, CopyPlace } from './copies.ts';
import type { DocumentChange, DocumentQuery, StoredDocument, TenantAccount } from './documents.ts';
import type {
  ApplyAnswer,
  Block,
  BlockQuery,
  ChangeAnswer,
  ClaimAnswer,
  ClaimRequest,
  CreateAnswer,
  CreateRequest,
  DueTasks,
  ExtendAnswer,
  FoundTasks,
  HistoryQuery,
  Idempotency,
  Overdue,
  Progress,
  PurgeAnswer,
  RemoveAnswer,
  SettleAnswer,
  Settlement,
  StatusCounts,
  TaskChange,
  TaskQuery,
  TaskSearch,
  Wakeup,
} from './requests.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from './usage.ts';

/**
 * Approximate maximum number of bytes that a call reads of data that tenants can make large: bodies of tasks, and due
 * documents. The call then ends early, after at least one of them, and the caller calls again. A single answer
 * therefore never blocks a thread or the store for long, however large payloads are.
 */
export const READ_BYTES = 1024 * 1024;

/** Bounds of {@link TaskStore.dueOf}, which together keep it below a few milliseconds. */
export const MAX_DUE = 10_000;
export const MAX_DUE_WORKERS = 1_000;

/**
 * Stores tasks and documents (specification 4.1). `tenant` is the domain of an account, which never changes.
 *
 * Each call is atomic: it happens completely or not at all. Once its promise is fulfilled, it survives the crash of any
 * process of this program. Times are those of the store (`now` below). Every change of the status of a task writes exactly
 * one history entry in the same step, and each change of a task increases its version by one. Policy (delays, signatures,
 * roles) is left to the callers. All stores pass the same tests (`test/exam/task-store`).
 *
 * When a task reaches a final status, in any call: `finishedAt` is set, and `dueAt` and `heldBy` become null. If the task
 * is the holder of its key, the key becomes free after `keyTtlMs`, or returns to the task with the same key that held this
 * one. Tasks that it held (`heldBy`) are released: they are due at their `runAt` or now, whichever is later (entry
 * `updated`, changed: `held_by`, actor `system` `store`). A removed or purged task frees its key at once and releases the
 * tasks that it held. If the task has an `onFinish` for the status, a document of kind `callback` is written in the same
 * step; see `callbackDocument` in `documents.ts`.
 *
 * @throws (rejects with) Fault `store_failed`: the call may or may not have happened · `overloaded`: it did not happen
 */
export interface TaskStore {
  readonly name: 'memory' | 'sqlite' | 'redis' | 'postgres';

  /** Opens the store and migrates its layout. */
  start(): Promise<void>;
  /** Waits for operations in progress, then closes. */
  stop(): Promise<void>;
  /** Resolves if the store replies and accepts writes. A server remembers the time: see {@link TaskStore.lastUse}. */
  ping(): Promise<void>;
  /**
   * When a process last asked with `ping`, as each process of the service does every few seconds. Null for never, and for
   * a file, which a process can lock.
   */
  lastUse(): Promise<number | null>;

  /**
   * Creates tasks with status `scheduled` and one entry `created` (`updated` for a replaced task).
   *
   * Keys: at most one task of a worker is the _holder_ of a key: the newest task with that key that is not final, or whose
   * key is not free yet. With `replace`, a holder that has not started (`startedAt` is null) keeps its id and receives the
   * new content: type, payload, headers, priority, runAt, expiresAt, timeout, retry, tags and metadata.
   * `replace_keep_time` keeps `runAt` and `dueAt`. If the holder has started, a new task is created, which is held by it
   * (`heldBy`) and becomes the holder. A final holder whose key is not free yet counts as live for `return` and `reject`
   * only.
   *
   * A `heldBy` with the id of a final or missing task counts as null.
   */
  create(tenant: string, request: CreateRequest): Promise<CreateAnswer>;

  get(tenant: string, id: string): Promise<Task | null>;
  /** A task with its body. */
  getWhole(tenant: string, id: string): Promise<{ readonly task: Task; readonly body: TaskBody } | null>;

  change(tenant: string, id: string, change: TaskChange): Promise<ChangeAnswer>;

  /** Removes a task with its history. A running task is not removed. */
  remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer>;

  list(tenant: string, query: TaskQuery): Promise<readonly Task[]>;
  /**
   * Returns the first tasks that match a filter, up to the limit. It reads about 1000 tasks at most, so that a filter with
   * few matches does not block the store. The caller continues at the place where it stopped.
   */
  search(tenant: string, search: TaskSearch): Promise<FoundTasks>;
  /**
   * The bodies of tasks, by id, in the order of the ids; null for a task that does not exist. At most 200 ids. The
   * result ends before the body that would exceed {@link READ_BYTES}, and has no entries from that id on.
   */
  bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>>;
  /** Ids of tasks of a schedule that are not final, oldest first, at most `limit`. */
  openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]>;

  /** Null if the task does not exist. */
  history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null>;

  /**
   * Starts due tasks of a worker: status `running`, attempt plus one, entry `started`. Tasks start in the order of due time
   * plus penalty of their priority, then of id, as far as the limits of the request and the throttle of the worker allow.
   * Expired tasks do not start. No further task starts when the bodies of the started ones reach {@link READ_BYTES}.
   *
   * Groups (`ClaimRequest.groups`): the number of running tasks of a group never exceeds its concurrency, over all
   * processes. With `fifo`, the first waiting task of a group (by `runAt`, then by id) must start before the others, even
   * while it waits for a retry. Paused, held and expired tasks are skipped in this order. A claim reads at most 32 groups
   * that may have tasks to start, beginning with those served longest ago, and the order by due time applies among these.
   * A change of `fifo` may take effect in a group only when its first task is due.
   *
   * Buckets are full at first. Their size is `burst` (worker) or the number for one second (tenant).
   */
  claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer>;

  /**
   * Returns the reason that would block a claim of one task of each worker (`blocked` of {@link ClaimAnswer}), in the
   * order of the workers; null for nothing. The group of a task is checked before the limits of the worker. Changes
   * nothing.
   */
  blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]>;

  /**
   * Ends attempts, in order. The resulting status of the task:
   *
   * - `succeeded` → succeeded, even after a cancel request
   * - all other events after a cancel request → canceled (entry `canceled`)
   * - `no_retry` → failed · `canceled` → canceled
   * - `attempt_failed`, `timed_out`, `lease_expired` → failed if `last` is set or no attempts are left, else retry, due in
   *   `delayMs`. `lease_expired` is `lost` unless the lease has expired
   * - `deferred`, `released` → retry. The attempt is not counted (attempt minus one, deferrals plus one). From the 101st on,
   *   they count as failures
   *
   * The error, if any, becomes the last error of the task, unless the task succeeded. An expired lease can still be
   * settled until `lease_expired` is.
   */
  settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]>;

  /**
   * Extends a lease to `ms` from now, at most up to the limit of its claim; never shortens it. Null does not change it.
   * Progress adds an entry `heartbeat_progress`. This does not change the version of the task.
   */
  extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer>;

  /** The task whose running attempt has this lease. */
  leased(tenant: string, leaseId: string): Promise<Task | null>;

  /** Attempts whose lease has expired and tasks that did not start in time, of all tenants, at most `max` in total. */
  overdue(max: number): Promise<readonly Overdue[]>;

  /** Hints that are due by `until`, earliest first. */
  wakeups(until: number, max: number): Promise<readonly Wakeup[]>;
  /** Sets or removes a hint, for workers that cannot receive tasks now, or can again. */
  setWakeup(tenant: string, workerId: string, at: number | null): Promise<void>;

  /**
   * Applies changes to documents, all or none, in order.
   *
   * The bucket and the throttle of a worker end with its document.
   *
   * A tenant exists while it has a document of kind `account`. If no other data of the tenant is left when that document is
   * deleted, the store also forgets its name.
   */
  apply(tenant: string, changes: readonly DocumentChange[], idempotency?: Idempotency): Promise<ApplyAnswer>;
  getDocument<K extends DocumentKind>(tenant: string, kind: K, id: string): Promise<StoredDocument<K> | null>;
  /** Finds a document of any kind by a unique name. */
  findDocument(tenant: string, name: string): Promise<StoredDocument | null>;
  listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]>;
  countDocuments(tenant: string, kind: DocumentKind): Promise<number>;
  /**
   * Due documents of all tenants, earliest first.
   *
   * If more are due than `max` or {@link READ_BYTES} allow, each tenant gets a share (`dueShare`) and the documents
   * are in the order of the tenants: first those that follow the tenant `after`. Pass the tenant of the last document of
   * the previous answer, so that every tenant is reached.
   */
  dueDocuments(
    max: number,
    after?: string | null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]>;

  /** Reads an idempotency record, for requests that consist of several calls of the store. */
  recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }>;
  remember(tenant: string, idempotency: Idempotency): Promise<void>;

  /** Number of tasks by status, of one worker or of all. Reads counters, so it is fast. */
  counts(tenant: string, workerId: string | null): Promise<StatusCounts>;

  /**
   * Number of due tasks of all tenants, up to `max`, for statistics. Includes tasks of paused workers, and possibly expired
   * tasks. A store that would have to read every tenant returns the number of its last sweep, and 0 before the first.
   */
  countDue(max: number): Promise<number>;

  /**
   * Due tasks of one tenant: their number, up to {@link MAX_DUE}, and when the oldest one became due. Counts the same tasks
   * as {@link countDue}, always those of now. Of the workers of the tenant, at most {@link MAX_DUE_WORKERS} are looked at.
   */
  dueOf(tenant: string): Promise<DueTasks>;

  /**
   * Adds to the usage of a tenant (`../model/usage.ts`), at most `MAX_USAGE_INCREMENTS` at once. Does nothing for a tenant
   * without an account or whose account is being deleted, for intervals that are no longer kept, and for the figures of a
   * worker if `MAX_USAGE_WORKERS` others have figures in the interval.
   */
  addUsage(tenant: string, increments: readonly UsageIncrement[]): Promise<void>;
  /**
   * The usage of a tenant or of a worker, oldest first. Intervals in which nothing happened, and those that are no longer
   * kept, are left out.
   */
  usage(tenant: string, query: UsageQuery): Promise<readonly UsageOfInterval[]>;

  /**
   * Removes tasks that ended longer ago than `keep`, expired keys, expired idempotency records and old usage: at most
   * `max` of each, and fewer tasks if they have long histories.
   */
  purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer>;

  /**
   * Removes all data of a tenant without tasks except its documents: idempotency records, the buckets and throttles of the
   * tenant and its workers, its usage, and hints. Does nothing while the tenant has tasks.
   *
   * @param place null at first, then the result of the previous call; each call removes a limited part
   * @returns where to continue; null if nothing is left
   */
  forgetTenant(tenant: string, place: string | null): Promise<string | null>;

  /**
   * Reads everything of one tenant in pages, except idempotency records. Tasks and documents are in the order of their ids,
   * documents of each kind after another. What changes between two calls can be missing.
   */
  copyOut(tenant: string, place: CopyPlace): Promise<CopyPage>;
  /** Reads the idempotency records of all tenants in pages, in any order. A record may come twice. */
  recallAll(place: string | null): Promise<AnswerPage>;
  /**
   * Writes copies as they are: at most one page of them. What exists already stays as it is, so that a repeated call
   * changes nothing. Hints are set for the copied tasks and documents.
   */
  copyIn(tenant: string, copies: readonly Copy[]): Promise<void>;

  /** Domains of tenants, sorted by name. */
  tenants(after: string | null, limit: number): Promise<readonly string[]>;

  /**
   * Accounts of tenants, sorted by the name of the tenant: one for each tenant of {@link tenants}, or null if it cannot be
   * read at the moment.
   */
  accounts(after: string | null, limit: number): Promise<readonly TenantAccount[]>;

  /** Milliseconds since the epoch, by the store's clock. */
  now(): Promise<number>;
}
