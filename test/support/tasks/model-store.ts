import type { Clock } from '../../../src/base/clock.ts';
import type { DocumentKind } from '../../../src/tasks/model/documents.ts';
import { bodyBytes, type HistoryEntry, type Task, type TaskBody } from '../../../src/tasks/model/task.ts';
import type { AnswerPage, Copy, CopyPage, CopyPlace } from '../../../src/tasks/store/copies.ts';
import {
  ACCOUNT_ID,
  type DocumentChange,
  type DocumentQuery,
  dueShare,
  inTurnsAfter,
  type StoredDocument,
  type TenantAccount,
} from '../../../src/tasks/store/documents.ts';
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
} from '../../../src/tasks/store/requests.ts';
import { MAX_DUE, READ_BYTES, type TaskStore } from '../../../src/tasks/store/task-store.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../../../src/tasks/store/usage.ts';
import { change } from './model/changing.ts';
import { blocks, claim } from './model/claiming.ts';
import { answerCopies, copyIn, copyOut } from './model/copying.ts';
import { create, remember, remembered } from './model/creating.ts';
import { applyChanges, dueDocuments, findByName, listDocuments } from './model/documents.ts';
import { allRecords, counts, dueOf, list, openOfSchedule, overdue, readHistory } from './model/reading.ts';
import { search } from './model/searching.ts';
import { extend, leasedRecord, settle } from './model/settling.ts';
import { compareText, copyOf, documentName, emptyState, type TenantState } from './model/state.ts';
import { addUsage, purgeUsage, usage } from './model/usage.ts';
import { removeTask } from './model/writing.ts';

/**
 * The model of a task store, which the others are compared with: in memory, nothing but maps and full scans, and each
 * operation as its contract says it. What it holds stays when it is stopped and started.
 */
export class ModelStore implements TaskStore {
  readonly name = 'memory';
  readonly #clock: Clock;
  readonly #states = new Map<string, TenantState>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async ping(): Promise<void> {}

  async now(): Promise<number> {
    return this.#now();
  }

  #now(): number {
    return this.#clock.nowMs();
  }

  #state(tenant: string): TenantState {
    let state = this.#states.get(tenant);
    if (state === undefined) {
      state = emptyState();
      this.#states.set(tenant, state);
    }
    return state;
  }

  /** All tenants with anything in them, by name. */
  #all(): [tenant: string, state: TenantState][] {
    return [...this.#states].sort(([a], [b]) => compareText(a, b));
  }

  async create(tenant: string, request: CreateRequest): Promise<CreateAnswer> {
    return create(this.#state(tenant), this.#now(), request);
  }

  async get(tenant: string, id: string): Promise<Task | null> {
    return this.#state(tenant).tasks.get(id)?.task ?? null;
  }

  async getWhole(
    tenant: string,
    id: string,
  ): Promise<{ readonly task: Task; readonly body: TaskBody } | null> {
    const record = this.#state(tenant).tasks.get(id);
    return record === undefined ? null : { task: record.task, body: record.body };
  }

  async change(tenant: string, id: string, request: TaskChange): Promise<ChangeAnswer> {
    return change(this.#state(tenant), this.#now(), id, request);
  }

  async remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer> {
    const state = this.#state(tenant);
    const task = state.tasks.get(id)?.task;
    if (task === undefined) return 'missing';
    if (expectVersion !== null && expectVersion !== task.version) return 'version';
    if (task.status === 'running') return 'running';
    removeTask(state, this.#now(), task);
    return 'removed';
  }

  async list(tenant: string, query: TaskQuery): Promise<readonly Task[]> {
    return list(this.#state(tenant), query);
  }

  async search(tenant: string, wanted: TaskSearch): Promise<FoundTasks> {
    return search(this.#state(tenant), this.#now(), wanted);
  }

  async bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>> {
    const { tasks } = this.#state(tenant);
    const found = new Map<string, TaskBody | null>();
    let bytes = 0;
    for (const id of ids) {
      const body = tasks.get(id)?.body ?? null;
      const more = body === null ? 0 : bodyBytes(body);
      if (body !== null && bytes > 0 && bytes + more > READ_BYTES) break;
      bytes += more;
      found.set(id, body);
    }
    return found;
  }

  async openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]> {
    return openOfSchedule(this.#state(tenant), scheduleId, limit);
  }

  async history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null> {
    const record = this.#state(tenant).tasks.get(id);
    return record === undefined ? null : readHistory(record, query);
  }

  async claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer> {
    return claim(this.#state(tenant), this.#now(), request);
  }

  async blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]> {
    return blocks(this.#state(tenant), this.#now(), query);
  }

  async settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    const now = this.#now();
    return settlements.map(settlement => settle(this.#state(tenant), now, settlement));
  }

  async extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    return extend(this.#state(tenant), this.#now(), leaseId, ms, progress);
  }

  async leased(tenant: string, leaseId: string): Promise<Task | null> {
    return leasedRecord(this.#state(tenant), leaseId)?.task ?? null;
  }

  async overdue(max: number): Promise<readonly Overdue[]> {
    const found: Overdue[] = [];
    let left = max;
    for (const [tenant, state] of this.#all()) {
      const { leases, expired } = overdue(state, this.#now(), left);
      left -= leases.length + expired.length;
      if (leases.length + expired.length > 0) found.push({ tenant, leases, expired });
    }
    return found;
  }

  async wakeups(until: number, max: number): Promise<readonly Wakeup[]> {
    return this.#all()
      .flatMap(([tenant, { wakeups }]) => [...wakeups].map(([workerId, at]) => ({ tenant, workerId, at })))
      .filter(({ at }) => at <= until)
      .sort((a, b) => a.at - b.at)
      .slice(0, max);
  }

  async setWakeup(tenant: string, workerId: string, at: number | null): Promise<void> {
    const { wakeups } = this.#state(tenant);
    if (at === null) wakeups.delete(workerId);
    else wakeups.set(workerId, at);
  }

  async apply(
    tenant: string,
    changes: readonly DocumentChange[],
    idempotency?: Idempotency,
  ): Promise<ApplyAnswer> {
    const state = this.#state(tenant);
    const known = idempotency && remembered(state, this.#now(), idempotency);
    if (known) {
      return known.fingerprint === idempotency.fingerprint
        ? { kind: 'replayed', note: known.note }
        : { kind: 'reused' };
    }
    const draft = copyOf(state);
    const answer = applyChanges(draft, changes);
    if (answer.kind === 'refused') return answer;
    if (idempotency) remember(draft, this.#now(), idempotency, []);
    Object.assign(state, draft);
    return answer;
  }

  async getDocument<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
  ): Promise<StoredDocument<K> | null> {
    const record = this.#state(tenant).documents.get(documentName(kind, id));
    return record === undefined ? null : (record.document as StoredDocument<K>);
  }

  async findDocument(tenant: string, name: string): Promise<StoredDocument | null> {
    return findByName(this.#state(tenant), name);
  }

  async listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    return listDocuments(this.#state(tenant), query);
  }

  async countDocuments(tenant: string, kind: DocumentKind): Promise<number> {
    return listDocuments(this.#state(tenant), { kind, after: null, limit: Infinity, order: 'asc' }).length;
  }

  async dueDocuments(
    max: number,
    after: string | null = null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]> {
    const dueOf = new Map<
      string,
      readonly { readonly tenant: string; readonly document: StoredDocument }[]
    >();
    for (const [tenant, state] of this.#all()) {
      const due = dueDocuments(state, this.#now()).sort((a, b) => a.dueAt! - b.dueAt!);
      if (due.length > 0)
        dueOf.set(
          tenant,
          due.map(document => ({ tenant, document })),
        );
    }
    const all = [...dueOf.values()].flat().sort((a, b) => a.document.dueAt! - b.document.dueAt!);
    const earliest = upTo(all, max, READ_BYTES);
    if (earliest.length === all.length || dueOf.size === 1) return earliest;
    const share = dueShare(dueOf.size, { documents: max, bytes: READ_BYTES });
    const parts = inTurnsAfter([...dueOf.keys()], after).map(tenant => {
      return upTo(dueOf.get(tenant)!, share.documents, share.bytes);
    });
    return upTo(parts.flat(), max, READ_BYTES);
  }

  async recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    const known = remembered(this.#state(tenant), this.#now(), idempotency);
    if (known === undefined) return { kind: 'new' };
    if (known.fingerprint !== idempotency.fingerprint) return { kind: 'reused' };
    return { kind: 'replayed', note: known.note };
  }

  async remember(tenant: string, idempotency: Idempotency): Promise<void> {
    remember(this.#state(tenant), this.#now(), idempotency, []);
  }

  async counts(tenant: string, workerId: string | null): Promise<StatusCounts> {
    return counts(this.#state(tenant), workerId);
  }

  async countDue(max: number): Promise<number> {
    const now = this.#now();
    return Math.min(
      max,
      this.#all().reduce((sum, [, state]) => sum + dueOf(state, now).count, 0),
    );
  }

  async dueOf(tenant: string): Promise<DueTasks> {
    const { count, oldestAt } = dueOf(this.#state(tenant), this.#now());
    return { count: Math.min(count, MAX_DUE), oldestAt };
  }

  async addUsage(tenant: string, increments: readonly UsageIncrement[]): Promise<void> {
    addUsage(this.#state(tenant), this.#now(), increments);
  }

  async usage(tenant: string, query: UsageQuery): Promise<readonly UsageOfInterval[]> {
    return usage(this.#state(tenant), this.#now(), query);
  }

  async purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer> {
    const state = this.#state(tenant);
    const now = this.#now();
    for (const [name, { until }] of state.idempotency) if (until <= now) state.idempotency.delete(name);
    for (const [name, { freeAt }] of state.keys) {
      if (freeAt !== null && freeAt <= now) state.keys.delete(name);
    }
    purgeUsage(state, now);
    const over = allRecords(state)
      .map(({ task }) => task)
      .filter(({ status, finishedAt }) => {
        const keepMs = status === 'succeeded' ? keep.succeededMs : keep.otherMs;
        return finishedAt !== null && finishedAt < now - keepMs;
      })
      .slice(0, max);
    for (const task of over) removeTask(state, now, task);
    return { tasks: over.length, more: over.length === max };
  }

  async forgetTenant(tenant: string, _place: string | null): Promise<null> {
    const { tasks, documents } = this.#state(tenant);
    if (tasks.size === 0) this.#states.set(tenant, { ...emptyState(), documents });
    return null;
  }

  async accounts(after: string | null, limit: number): Promise<readonly TenantAccount[]> {
    const tenants = await this.tenants(after, limit);
    return Promise.all(
      tenants.map(async tenant => ({
        tenant,
        account: await this.getDocument(tenant, 'account', ACCOUNT_ID),
      })),
    );
  }

  async lastUse(): Promise<number | null> {
    return null;
  }

  async copyOut(tenant: string, place: CopyPlace): Promise<CopyPage> {
    return copyOut(this.#state(tenant), this.#now(), place);
  }

  async recallAll(_place: string | null): Promise<AnswerPage> {
    const answers = this.#all().flatMap(([tenant, state]) =>
      answerCopies(state, this.#now()).map(answer => ({ tenant, answer })),
    );
    return { answers, next: null };
  }

  async copyIn(tenant: string, copies: readonly Copy[]): Promise<void> {
    copyIn(this.#state(tenant), copies);
  }

  async tenants(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#all()
      .filter(([, { documents }]) =>
        [...documents.values()].some(({ document }) => document.kind === 'account'),
      )
      .map(([tenant]) => tenant)
      .filter(tenant => after === null || tenant > after)
      .slice(0, limit);
  }
}

/** The first documents, up to the one that reaches `maxBytes`. */
function upTo<T extends { readonly document: StoredDocument }>(
  due: readonly T[],
  max: number,
  maxBytes: number,
): readonly T[] {
  let bytes = 0;
  const last = due.findIndex(({ document }, i) => {
    bytes += JSON.stringify(document.body).length;
    return i === max - 1 || bytes >= maxBytes;
  });
  return last === -1 ? due : due.slice(0, last + 1);
}
