import type { DocumentKind } from '../model/documents.ts';
import type { HistoryEntry, Task, TaskBody } from '../model/task.ts';
import type { DocumentChange, DocumentQuery, StoredDocument } from './documents.ts';
import type {
  ApplyAnswer,
  Block,
  BlockQuery,
  ChangeAnswer,
  ClaimAnswer,
  ClaimRequest,
  CreateAnswer,
  CreateRequest,
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

/**
 * Approximate maximum number of bytes that a call reads of data that tenants can make large: bodies of tasks, and due
 * documents. The call then ends early, after at least one of them, and the caller calls again. A single answer
 * therefore never blocks a thread or the store for long, however large payloads are.
 */
export const READ_BYTES = 1024 * 1024;

/**
 * Where tasks and documents are kept (specification 4.1). `tenant` is the domain of an account, which never changes.
 *
 * Each call is atomic: it happens whole or not at all, and survives the crash of any process of ours once its promise
 * is fulfilled. Time is the store's (`now` below). Every change of a task's status writes exactly one history entry in
 * the same step, and each change of a task adds one to its version. Policy stays with the callers: waits, signatures,
 * roles. One exam (`test/exam/task-store`) holds for every store.
 *
 * Where a task reaches a final status, in whatever call: `finishedAt` is set, `dueAt` and `heldBy` are null; if it is the
 * holder of its key, that becomes free after `keyTtlMs`, or goes back to the task with the same key that it was held by;
 * tasks held by it (`heldBy`) are held no more, due at their `runAt` or now, whichever is later (entry `updated`, changed:
 * `held_by`, actor `system` `store`). A removed or purged task leaves its key at once, and lets go of those it holds. If
 * the task has an `onFinish` for that status, a document of kind `callback` is written in the same step: see
 * `callbackDocument` in `callbacks.ts`.
 *
 * @throws (rejects with) Fault `store_failed`: whether it happened is not known · `overloaded`: it did not happen
 */
export interface TaskStore {
  readonly name: 'memory' | 'sqlite' | 'redis';

  /** Opens it and brings its layout up to date. */
  start(): Promise<void>;
  /** Waits for what was asked, then closes. */
  stop(): Promise<void>;
  /** Resolves when the store answers and takes what is written. */
  ping(): Promise<void>;

  /**
   * Makes tasks, each `scheduled`, with one entry `created` (or `updated` for one that was replaced).
   *
   * Keys: at most one task of a worker is the _holder_ of a key: the newest with that key that is not final, or whose
   * key is not free yet. With `replace`, a holder that has not started (`startedAt` is null) is given the new content
   * (type, payload, headers, priority, runAt, expiresAt, timeout, retry, tags, metadata; `replace_keep_time` keeps
   * `runAt` and `dueAt`) under its own id; beside one that has started a new task is made, which is held by it
   * (`heldBy`) and becomes the holder. A final holder whose key is not free yet counts as live for `return` and
   * `reject`, not for the others.
   *
   * A `heldBy` that names a task that is final or missing is taken as null.
   */
  create(tenant: string, request: CreateRequest): Promise<CreateAnswer>;

  get(tenant: string, id: string): Promise<Task | null>;
  /** The same with its body. */
  getWhole(tenant: string, id: string): Promise<{ readonly task: Task; readonly body: TaskBody } | null>;

  change(tenant: string, id: string, change: TaskChange): Promise<ChangeAnswer>;

  /** Removes a task that is not running, with its history. */
  remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer>;

  list(tenant: string, query: TaskQuery): Promise<readonly Task[]>;
  /**
   * The first tasks that pass a filter, up to the limit. It looks at about 1000 tasks at most, so that a filter that
   * passes few does not hold up the store; the caller goes on behind the place where it stopped.
   */
  search(tenant: string, search: TaskSearch): Promise<FoundTasks>;
  /**
   * The bodies of tasks, by id, in the order of the ids; null for a task that does not exist. At most 200 ids. The
   * result ends before the body that would exceed {@link READ_BYTES}, and has no entries from that id on.
   */
  bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>>;
  /** Ids of tasks of a schedule that are not final, oldest first, at most `limit`. */
  openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]>;

  /** Null when there is no such task. */
  history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null>;

  /**
   * Starts due tasks of a worker: `running`, attempt one higher, entry `started`. In the order of due time plus penalty
   * of the band, then of id; not more than the bounds of the request and the worker's throttle leave room for.
   * `expiresAt` in the past keeps a task from starting. None starts after the bodies of those that did have come to
   * {@link READ_BYTES}.
   *
   * Groups (`ClaimRequest.groups`): of one group no more run than its concurrency, whatever process claims. With `fifo`
   * the first of a group's waiting tasks, by `runAt` and then by id, has to start before the others, also while it waits
   * for its next attempt; tasks that are paused, held or expired are not in this order. A claim looks at
   * no more than 32 groups that may have something to start, those first that were served longest ago: the order by due
   * time holds among these. A change of `fifo` may take effect in a group only when its first task is due.
   *
   * Buckets are full at first, and hold at most `burst` (worker) or a second's worth (tenant).
   */
  claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer>;

  /**
   * What a claim of one task of each worker would be blocked by (`blocked` of {@link ClaimAnswer}), in the order of the
   * workers; null where nothing blocks it. The group of a task comes before the bounds of the worker. Changes nothing.
   */
  blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]>;

  /**
   * Ends attempts, in order. What becomes of the task:
   *
   * - `succeeded` → succeeded, also when it was asked to be canceled
   * - asked to be canceled, all other events → canceled (entry `canceled`)
   * - `no_retry` → failed · `canceled` → canceled
   * - `attempt_failed`, `timed_out`, `lease_expired`: failed when `last` or the attempts are used up, else retry, due
   *   `delayMs` from now. `lease_expired` is `lost` unless the lease is over
   * - `deferred`, `released`: retry, and the attempt is not counted (one less), deferrals one more. From the 101st on
   *   they count as failures
   *
   * The error becomes the last error of the task, unless it succeeded or there is none. A lease past its time that
   * nobody has ended still settles.
   */
  settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]>;

  /**
   * Lengthens a lease to `ms` from now, not beyond what its claim allows, and never shortens it; `null` leaves it.
   * Progress adds an entry `heartbeat_progress` of the actor `worker` with the worker's id, which is no change of the
   * task.
   */
  extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer>;

  /** The task whose running attempt has this lease. */
  leased(tenant: string, leaseId: string): Promise<Task | null>;

  /** Attempts whose lease is over and tasks that did not start in time, over all tenants, at most `max` in all. */
  overdue(max: number): Promise<readonly Overdue[]>;

  /** Hints that have come by `until`, the earliest first. */
  wakeups(until: number, max: number): Promise<readonly Wakeup[]>;
  /** Sets a hint, or takes it away. For workers that cannot be served now, and those that can again. */
  setWakeup(tenant: string, workerId: string, at: number | null): Promise<void>;

  /**
   * Applies changes to documents, all or none, in order.
   *
   * A document of kind `account` makes the tenant known; with it gone, the tenant is. If nothing else is left of the
   * tenant then, the store does not even keep its name.
   */
  apply(tenant: string, changes: readonly DocumentChange[], idempotency?: Idempotency): Promise<ApplyAnswer>;
  getDocument<K extends DocumentKind>(tenant: string, kind: K, id: string): Promise<StoredDocument<K> | null>;
  /** By a unique name, whatever its kind. */
  findDocument(tenant: string, name: string): Promise<StoredDocument | null>;
  listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]>;
  countDocuments(tenant: string, kind: DocumentKind): Promise<number>;
  /**
   * Due documents of all tenants, the earliest first.
   *
   * If more are due than `max` or {@link READ_BYTES} allow, each tenant gets a share (`due-shares.ts`) and the documents
   * are in the order of the tenants: first those that follow the tenant `after`. Pass the tenant of the last document of
   * the previous answer, so that every tenant is reached.
   */
  dueDocuments(
    max: number,
    after?: string | null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]>;

  /** What was remembered under an idempotency key; for requests that are no single call of the store. */
  recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }>;
  remember(tenant: string, idempotency: Idempotency): Promise<void>;

  /** How many tasks there are by status, of one worker or of all; from counters. */
  counts(tenant: string, workerId: string | null): Promise<StatusCounts>;

  /**
   * How many tasks of all tenants wait although their time has come, up to `max`: for statistics. Those of paused workers
   * are among them, and so may be those that have expired and were not ended yet. A store that would have to ask every
   * tenant tells of its last look, some time ago, and 0 before the first.
   */
  countDue(max: number): Promise<number>;

  /**
   * Removes tasks that ended longer ago than that, keys whose time is over, and what is remembered under idempotency keys
   * for no longer: at most `max` of each, and fewer tasks where they have long histories.
   */
  purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer>;

  /**
   * Removes what a tenant without tasks still has besides its documents: what is remembered under idempotency keys, the
   * buckets and throttles of the tenant and its workers, and hints. While the tenant has tasks, nothing happens.
   *
   * @param place null at first, then the result of the call before: each call removes a bounded part
   * @returns where to continue; null when nothing is left
   */
  forgetTenant(tenant: string, place: string | null): Promise<string | null>;

  /** Domains of tenants, by name. */
  tenants(after: string | null, limit: number): Promise<readonly string[]>;

  /** Milliseconds since the epoch, by the store's clock. */
  now(): Promise<number>;
}
