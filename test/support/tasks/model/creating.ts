import { isFinal, type Task } from '../../../../src/tasks/model/task.ts';
import { resolveTime } from '../../../../src/tasks/model/time.ts';
import type {
  CreateAnswer,
  CreateRequest,
  CreateResult,
  Idempotency,
  NewTask,
} from '../../../../src/tasks/store/requests.ts';
import { changedNames, patched } from './content.ts';
import { applyChanges } from './documents.ts';
import {
  copyOf,
  documentName,
  type IdempotencyRecord,
  keyName,
  type TaskRecord,
  type TenantState,
} from './state.ts';
import { changeTask, entryOf, tellOf } from './writing.ts';

export function create(state: TenantState, now: number, request: CreateRequest): CreateAnswer {
  const { idempotency } = request;
  const known = idempotency && remembered(state, now, idempotency);
  if (known) {
    if (known.fingerprint !== idempotency.fingerprint) return { kind: 'reused' };
    return { kind: 'replayed', results: known.results, note: known.note };
  }
  const draft = copyOf(state);
  const documents = applyChanges(draft, request.documents ?? []);
  if (documents.kind === 'refused') {
    return { kind: 'documents_refused', index: documents.index, reason: documents.reason };
  }
  const results = request.tasks.map(item => createOne(draft, now, item, request));
  const note = idempotency?.note ?? '';
  if (request.atomic && results.some(result => result.kind === 'refused')) {
    return { kind: 'done', results: results.map(orNotCreated), note };
  }
  if (idempotency && results.some(result => result.kind !== 'refused')) {
    remember(draft, now, idempotency, results);
  }
  Object.assign(state, draft);
  return { kind: 'done', results, note };
}

function orNotCreated(result: CreateResult): CreateResult {
  return result.kind === 'refused' ? result : { kind: 'refused', reason: 'not_created' };
}

function createOne(state: TenantState, now: number, item: NewTask, request: CreateRequest): CreateResult {
  const { workerId, key } = item.task;
  if (!state.documents.has(documentName('worker', workerId)))
    return { kind: 'refused', reason: 'worker_missing' };
  const holder = key === null ? null : holderOf(state, now, workerId, key);
  if (holder !== null) {
    const { task } = holder.record;
    if (item.onConflict === 'return') return { kind: 'existing', task, keyFreeAt: holder.freeAt };
    if (item.onConflict === 'reject') return { kind: 'refused', reason: 'task_key_exists', taskId: task.id };
    if (!isFinal(task.status) && task.startedAt === null) {
      return { kind: 'replaced', task: replace(state, now, holder.record, item, request) };
    }
  }
  const open = [...state.tasks.values()].filter(({ task }) => !isFinal(task.status)).length;
  if (open >= request.maxOpen) return { kind: 'refused', reason: 'quota_exceeded' };
  const beside = holder !== null && !isFinal(holder.record.task.status) ? holder.record.task.id : null;
  return { kind: 'created', task: insert(state, now, item, beside ?? item.task.heldBy) };
}

/** The task that holds the key, and when it will be free. */
function holderOf(
  state: TenantState,
  now: number,
  workerId: string,
  key: string,
): { readonly record: TaskRecord; readonly freeAt: number | null } | null {
  const held = state.keys.get(keyName(workerId, key));
  if (held === undefined || (held.freeAt !== null && held.freeAt <= now)) return null;
  const record = state.tasks.get(held.taskId);
  return record === undefined ? null : { record, freeAt: held.freeAt };
}

function insert(state: TenantState, now: number, item: NewTask, wantedHolder: string | null): Task {
  const holder = wantedHolder === null ? undefined : state.tasks.get(wantedHolder)?.task;
  const heldBy = holder === undefined || isFinal(holder.status) ? null : holder.id;
  const runAt = resolveTime(item.task.runAt, now);
  const task: Task = {
    ...item.task,
    runAt,
    expiresAt: resolveTime(item.task.expiresAt, now),
    heldBy,
    status: 'scheduled',
    dueAt: heldBy === null ? runAt : null,
    attempt: 0,
    deferrals: 0,
    lastError: null,
    cancelRequestedAt: null,
    updatedAt: now,
    startedAt: null,
    finishedAt: null,
    version: 1,
  };
  const record: TaskRecord = {
    task,
    body: { ...item.body, result: null },
    history: [entryOf(null, task, now, { event: 'created', actor: item.task.createdBy })],
    lease: null,
    settled: null,
    wake: item.wake,
  };
  state.tasks.set(task.id, record);
  if (task.key !== null) state.keys.set(keyName(task.workerId, task.key), { taskId: task.id, freeAt: null });
  tellOf(state, record);
  return task;
}

/** Gives a waiting task the content of another that is not made. */
function replace(
  state: TenantState,
  now: number,
  record: TaskRecord,
  { task, body, onConflict, wake }: NewTask,
  { actor }: CreateRequest,
): Task {
  const keepsTime = onConflict === 'replace_keep_time';
  const { type, priority, timeoutMs, retry, tags, metadata } = task;
  const runAt = keepsTime ? record.task.runAt : resolveTime(task.runAt, now);
  const expiresAt = resolveTime(task.expiresAt, now);
  const content = { type, priority, runAt, expiresAt, timeoutMs, retry, tags, metadata, ...body };
  const changed = changedNames(record, content);
  const { changes, body: newBody } = patched(record, content);
  const dueAt = keepsTime || record.task.heldBy !== null ? record.task.dueAt : runAt;
  const details = changed.length === 0 ? null : ({ event: 'updated', actor, changed } as const);
  return changeTask(state, now, record, { ...changes, dueAt }, details, { body: newBody, wake });
}

function idempotencyName({ scope, key }: Idempotency): string {
  return `${scope}\n${key}`;
}

/** What was remembered under this key, if its time is not over. */
export function remembered(
  state: TenantState,
  now: number,
  idempotency: Idempotency,
): IdempotencyRecord | undefined {
  const record = state.idempotency.get(idempotencyName(idempotency));
  return record !== undefined && record.until > now ? record : undefined;
}

export function remember(
  state: TenantState,
  now: number,
  idempotency: Idempotency,
  results: readonly CreateResult[],
): void {
  const { fingerprint, keepMs, note } = idempotency;
  state.idempotency.set(idempotencyName(idempotency), { fingerprint, until: now + keepMs, note, results });
}
