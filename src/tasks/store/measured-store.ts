import type { DocumentKind } from '../model/documents.ts';
import { type HistoryEntry, isFinal, type Task, type TaskBody } from '../model/task.ts';
import type { TaskStatistics } from '../model/task-statistics.ts';
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
import type { TaskStore } from './task-store.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from './usage.ts';
import type { UsageCounts } from './usage-counts.ts';

/** Ends of attempts that are failures of the worker. */
const FAILURES: ReadonlySet<Settlement['event']> = new Set([
  'attempt_failed',
  'timed_out',
  'lease_expired',
  'no_retry',
]);

/** Ends of attempts whose duration says something about the worker. */
const MEASURED: ReadonlySet<Settlement['event']> = new Set([
  'succeeded',
  'attempt_failed',
  'timed_out',
  'no_retry',
]);

/**
 * Measures a store: the duration and the failures of its operations, and how tasks and attempts end. All callers use the
 * store through it, so that every change of a task is counted, also in the usage of its tenant.
 */
export class MeasuredStore implements TaskStore {
  readonly name: TaskStore['name'];
  readonly #store: TaskStore;
  readonly #statistics: TaskStatistics;
  readonly #nowMs: () => number;
  readonly #usage: UsageCounts | null;

  /**
   * @param nowMs a clock that never steps back, in milliseconds with fractions
   * @param usage null in a thread that does nothing for tenants
   */
  constructor(
    store: TaskStore,
    statistics: TaskStatistics,
    nowMs: () => number,
    usage: UsageCounts | null = null,
  ) {
    this.name = store.name;
    this.#store = store;
    this.#statistics = statistics;
    this.#nowMs = nowMs;
    this.#usage = usage;
  }

  start(): Promise<void> {
    return this.#store.start();
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  ping(): Promise<void> {
    return this.#measured('ping', () => this.#store.ping());
  }

  async create(tenant: string, request: CreateRequest): Promise<CreateAnswer> {
    const answer = await this.#measured('create', () => this.#store.create(tenant, request));
    if (answer.kind === 'done') {
      for (const result of answer.results) {
        if (result.kind !== 'created') continue;
        this.#statistics.created.add(1);
        this.#usage?.count(tenant, result.task, 'created');
      }
    }
    return answer;
  }

  get(tenant: string, id: string): Promise<Task | null> {
    return this.#measured('get', () => this.#store.get(tenant, id));
  }

  getWhole(tenant: string, id: string): Promise<{ readonly task: Task; readonly body: TaskBody } | null> {
    return this.#measured('get_whole', () => this.#store.getWhole(tenant, id));
  }

  async change(tenant: string, id: string, change: TaskChange): Promise<ChangeAnswer> {
    const answer = await this.#measured('change', () => this.#store.change(tenant, id, change));
    if (answer.kind === 'done') this.#countFinished(tenant, answer.task);
    return answer;
  }

  remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer> {
    return this.#measured('remove', () => this.#store.remove(tenant, id, expectVersion));
  }

  list(tenant: string, query: TaskQuery): Promise<readonly Task[]> {
    return this.#measured('list', () => this.#store.list(tenant, query));
  }

  search(tenant: string, search: TaskSearch): Promise<FoundTasks> {
    return this.#measured('search', () => this.#store.search(tenant, search));
  }

  bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>> {
    return this.#measured('bodies', () => this.#store.bodies(tenant, ids));
  }

  openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]> {
    return this.#measured('open_of_schedule', () => this.#store.openOfSchedule(tenant, scheduleId, limit));
  }

  history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null> {
    return this.#measured('history', () => this.#store.history(tenant, id, query));
  }

  async claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer> {
    const answer = await this.#measured('claim', () => this.#store.claim(tenant, request));
    for (const { task, dueAt } of answer.tasks) {
      const lagMs = Math.max(0, answer.now - dueAt);
      this.#statistics.ofWorker(tenant, task.worker)?.dispatchLag.record(lagMs);
      this.#usage?.started(tenant, task, lagMs);
    }
    return answer;
  }

  blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]> {
    return this.#measured('blocks', () => this.#store.blocks(tenant, query));
  }

  async settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    const answers = await this.#measured('settle', () => this.#store.settle(tenant, settlements));
    answers.forEach((answer, at) => {
      if (answer.kind === 'settled') this.#countEnded(tenant, settlements[at].event, answer);
    });
    return answers;
  }

  extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    return this.#measured('extend', () => this.#store.extend(tenant, leaseId, ms, progress));
  }

  leased(tenant: string, leaseId: string): Promise<Task | null> {
    return this.#measured('leased', () => this.#store.leased(tenant, leaseId));
  }

  overdue(max: number): Promise<readonly Overdue[]> {
    return this.#measured('overdue', () => this.#store.overdue(max));
  }

  wakeups(until: number, max: number): Promise<readonly Wakeup[]> {
    return this.#measured('wakeups', () => this.#store.wakeups(until, max));
  }

  setWakeup(tenant: string, workerId: string, at: number | null): Promise<void> {
    return this.#measured('set_wakeup', () => this.#store.setWakeup(tenant, workerId, at));
  }

  apply(tenant: string, changes: readonly DocumentChange[], idempotency?: Idempotency): Promise<ApplyAnswer> {
    return this.#measured('apply', () => this.#store.apply(tenant, changes, idempotency));
  }

  getDocument<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
  ): Promise<StoredDocument<K> | null> {
    return this.#measured('get_document', () => this.#store.getDocument(tenant, kind, id));
  }

  findDocument(tenant: string, name: string): Promise<StoredDocument | null> {
    return this.#measured('find_document', () => this.#store.findDocument(tenant, name));
  }

  listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    return this.#measured('list_documents', () => this.#store.listDocuments(tenant, query));
  }

  countDocuments(tenant: string, kind: DocumentKind): Promise<number> {
    return this.#measured('count_documents', () => this.#store.countDocuments(tenant, kind));
  }

  dueDocuments(
    max: number,
    after?: string | null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]> {
    return this.#measured('due_documents', () => this.#store.dueDocuments(max, after));
  }

  recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    return this.#measured('recall', () => this.#store.recall(tenant, idempotency));
  }

  remember(tenant: string, idempotency: Idempotency): Promise<void> {
    return this.#measured('remember', () => this.#store.remember(tenant, idempotency));
  }

  counts(tenant: string, workerId: string | null): Promise<StatusCounts> {
    return this.#measured('counts', () => this.#store.counts(tenant, workerId));
  }

  countDue(max: number): Promise<number> {
    return this.#measured('count_due', () => this.#store.countDue(max));
  }

  dueOf(tenant: string): Promise<DueTasks> {
    return this.#measured('due_of', () => this.#store.dueOf(tenant));
  }

  addUsage(tenant: string, increments: readonly UsageIncrement[]): Promise<void> {
    return this.#measured('add_usage', () => this.#store.addUsage(tenant, increments));
  }

  usage(tenant: string, query: UsageQuery): Promise<readonly UsageOfInterval[]> {
    return this.#measured('usage', () => this.#store.usage(tenant, query));
  }

  async purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer> {
    const answer = await this.#measured('purge', () => this.#store.purge(tenant, keep, max));
    if (answer.tasks > 0) this.#statistics.purged.add(answer.tasks);
    return answer;
  }

  forgetTenant(tenant: string, place: string | null): Promise<string | null> {
    return this.#measured('forget_tenant', () => this.#store.forgetTenant(tenant, place));
  }

  tenants(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#measured('tenants', () => this.#store.tenants(after, limit));
  }

  now(): Promise<number> {
    return this.#measured('now', () => this.#store.now());
  }

  async #measured<T>(operation: string, run: () => Promise<T>): Promise<T> {
    const startMs = this.#nowMs();
    try {
      return await run();
    } catch (failure) {
      this.#statistics.storeErrors.add(1);
      throw failure;
    } finally {
      this.#statistics.storeOperation(operation).record(this.#nowMs() - startMs);
    }
  }

  #countEnded(
    tenant: string,
    event: Settlement['event'],
    { task, beganAt }: Extract<SettleAnswer, { kind: 'settled' }>,
  ): void {
    if (FAILURES.has(event)) {
      this.#statistics.ofWorker(tenant, task.worker)?.failures.add(1);
      this.#usage?.count(tenant, task, 'attemptsFailed');
    }
    if (MEASURED.has(event) && beganAt !== null) this.#usage?.lasted(tenant, task, task.updatedAt - beganAt);
    // A task with a cancel request becomes canceled with nearly every event.
    this.#statistics.attempts(task.status === 'canceled' ? 'canceled' : event).add(1);
    if (event === 'lease_expired') this.#statistics.leasesExpired.add(1);
    this.#countFinished(tenant, task);
  }

  #countFinished(tenant: string, task: Task): void {
    const { status } = task;
    if (!isFinal(status)) return;
    this.#statistics.finished(status).add(1);
    this.#usage?.count(tenant, task, status);
  }
}
