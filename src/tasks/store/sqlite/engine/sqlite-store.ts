import type { DocumentKind } from '../../../model/documents.ts';
import type { HistoryEntry, Task, TaskBody } from '../../../model/task.ts';
import type { DocumentChange, DocumentQuery, StoredDocument } from '../../documents.ts';
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
} from '../../requests.ts';
import type { TaskStore } from '../../task-store.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../../usage.ts';
import type { AnswerOf, ArgumentsOf, OperationName } from '../operations/operations.ts';

/** Runs the operations, for example in another thread. */
export interface Operator {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** @throws (rejects with) Fault */
  ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>>;
}

/** The task store in an SQLite file. */
export class SqliteStore implements TaskStore {
  readonly name = 'sqlite';
  readonly #operator: Operator;

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  start(): Promise<void> {
    return this.#operator.start();
  }

  stop(): Promise<void> {
    return this.#operator.stop();
  }

  ping(): Promise<void> {
    return this.#operator.ask('ping', []);
  }

  create(tenant: string, request: CreateRequest): Promise<CreateAnswer> {
    return this.#operator.ask('create', [tenant, request]);
  }

  get(tenant: string, id: string): Promise<Task | null> {
    return this.#operator.ask('get', [tenant, id]);
  }

  getWhole(tenant: string, id: string): Promise<{ readonly task: Task; readonly body: TaskBody } | null> {
    return this.#operator.ask('getWhole', [tenant, id]);
  }

  change(tenant: string, id: string, change: TaskChange): Promise<ChangeAnswer> {
    return this.#operator.ask('change', [tenant, id, change]);
  }

  remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer> {
    return this.#operator.ask('remove', [tenant, id, expectVersion]);
  }

  list(tenant: string, query: TaskQuery): Promise<readonly Task[]> {
    return this.#operator.ask('list', [tenant, query]);
  }

  search(tenant: string, search: TaskSearch): Promise<FoundTasks> {
    return this.#operator.ask('search', [tenant, search]);
  }

  bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>> {
    return this.#operator.ask('bodies', [tenant, ids]);
  }

  openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]> {
    return this.#operator.ask('openOfSchedule', [tenant, scheduleId, limit]);
  }

  history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null> {
    return this.#operator.ask('history', [tenant, id, query]);
  }

  claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer> {
    return this.#operator.ask('claim', [tenant, request]);
  }

  blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]> {
    return this.#operator.ask('blocks', [tenant, query]);
  }

  settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    return this.#operator.ask('settle', [tenant, settlements]);
  }

  extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    return this.#operator.ask('extend', [tenant, leaseId, ms, progress]);
  }

  leased(tenant: string, leaseId: string): Promise<Task | null> {
    return this.#operator.ask('leased', [tenant, leaseId]);
  }

  overdue(max: number): Promise<readonly Overdue[]> {
    return this.#operator.ask('overdue', [max]);
  }

  wakeups(until: number, max: number): Promise<readonly Wakeup[]> {
    return this.#operator.ask('wakeups', [until, max]);
  }

  setWakeup(tenant: string, workerId: string, at: number | null): Promise<void> {
    return this.#operator.ask('setWakeup', [tenant, workerId, at]);
  }

  apply(tenant: string, changes: readonly DocumentChange[], idempotency?: Idempotency): Promise<ApplyAnswer> {
    return this.#operator.ask(
      'apply',
      idempotency === undefined ? [tenant, changes] : [tenant, changes, idempotency],
    );
  }

  async getDocument<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
  ): Promise<StoredDocument<K> | null> {
    return (await this.#operator.ask('getDocument', [tenant, kind, id])) as StoredDocument<K> | null;
  }

  findDocument(tenant: string, name: string): Promise<StoredDocument | null> {
    return this.#operator.ask('findDocument', [tenant, name]);
  }

  listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    return this.#operator.ask('listDocuments', [tenant, query]);
  }

  countDocuments(tenant: string, kind: DocumentKind): Promise<number> {
    return this.#operator.ask('countDocuments', [tenant, kind]);
  }

  dueDocuments(
    max: number,
    after: string | null = null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]> {
    return this.#operator.ask('dueDocuments', [max, after]);
  }

  recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    return this.#operator.ask('recall', [tenant, idempotency]);
  }

  remember(tenant: string, idempotency: Idempotency): Promise<void> {
    return this.#operator.ask('remember', [tenant, idempotency]);
  }

  counts(tenant: string, workerId: string | null): Promise<StatusCounts> {
    return this.#operator.ask('counts', [tenant, workerId]);
  }

  countDue(max: number): Promise<number> {
    return this.#operator.ask('countDue', [max]);
  }

  dueOf(tenant: string): Promise<DueTasks> {
    return this.#operator.ask('dueOf', [tenant]);
  }

  addUsage(tenant: string, increments: readonly UsageIncrement[]): Promise<void> {
    return this.#operator.ask('addUsage', [tenant, increments]);
  }

  usage(tenant: string, query: UsageQuery): Promise<readonly UsageOfInterval[]> {
    return this.#operator.ask('usage', [tenant, query]);
  }

  purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer> {
    return this.#operator.ask('purge', [tenant, keep, max]);
  }

  forgetTenant(tenant: string, place: string | null): Promise<string | null> {
    return this.#operator.ask('forgetTenant', [tenant, place]);
  }

  tenants(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#operator.ask('tenants', [after, limit]);
  }

  now(): Promise<number> {
    return this.#operator.ask('now', []);
  }
}
