import {
  type Actor,
  type HistoryEntry,
  type HistoryEvent,
  type HistoryHttp,
  isFinal,
  type Task,
} from '../../../../src/tasks/model/task.ts';
import { callbackDocument } from '../../../../src/tasks/store/documents.ts';
import { documentName, keyName, type TaskRecord, type TenantState } from './state.ts';

/** The store itself, where it does something that nobody asked for. */
export const STORE_ACTOR: Actor = { type: 'system', id: 'store' };

/** What an entry says beside what follows from the task before and after. */
export interface EntryDetails {
  readonly event: HistoryEvent;
  readonly actor: Actor;
  /** Where it is not that of the task afterwards. */
  readonly attempt?: number;
  readonly leaseIdSuffix?: string;
  readonly http?: HistoryHttp;
  readonly error?: { readonly code: string; readonly message: string };
  readonly changed?: readonly string[];
  readonly progress?: number;
  readonly note?: string;
}

/** The next entry of a task, from its status before to what it is afterwards. */
export function entryOf(
  before: TaskRecord | null,
  after: Task,
  now: number,
  details: EntryDetails,
): HistoryEntry {
  return {
    seq: (before?.history.length ?? 0) + 1,
    at: now,
    from: before?.task.status ?? null,
    to: after.status,
    attempt: after.attempt,
    ...(after.dueAt === null ? {} : { nextAttemptAt: after.dueAt }),
    ...details,
  };
}

/**
 * Changes a task: one version higher, with an entry about it. One that ends is due and held no more, gives its key back
 * and lets go of the tasks that it holds.
 *
 * @param rest what changes of the record beside the task
 */
export function changeTask(
  state: TenantState,
  now: number,
  record: TaskRecord,
  changes: Partial<Task>,
  details: EntryDetails | null,
  rest: Partial<Pick<TaskRecord, 'body' | 'lease' | 'settled' | 'wake'>> = {},
): Task {
  const changed = { ...record.task, ...changes, updatedAt: now, version: record.task.version + 1 };
  const ends = isFinal(changed.status) && !isFinal(record.task.status);
  const task: Task = ends ? { ...changed, finishedAt: now, dueAt: null, heldBy: null } : changed;
  const history =
    details === null ? record.history : [...record.history, entryOf(record, task, now, details)];
  const after = { ...record, ...rest, task, history };
  state.tasks.set(task.id, after);
  if (ends) {
    leaveKey(state, record.task, now + task.keyTtlMs);
    letGo(state, now, task.id);
    const document = callbackDocument(task, after.body);
    if (document !== null) {
      state.documents.set(documentName(document.kind, document.id), { document, unique: [] });
    }
  } else {
    tellOf(state, after);
  }
  const hasRun = record.task.status === 'running' && task.status !== 'running';
  const isAhead = waitsInLine(task) && task.runAt <= record.task.runAt;
  const madeWay = waitsInLine(record.task) && task.status !== 'running' && !isAhead;
  if (hasRun || madeWay) wakeForGroup(state, now, after);
  return task;
}

function waitsInLine({ status, dueAt }: Task): boolean {
  return (status === 'scheduled' || status === 'retry') && dueAt !== null;
}

/** Another task of the group may start now. */
function wakeForGroup({ wakeups }: TenantState, now: number, { task, wake }: TaskRecord): void {
  if (task.group === null || !wake) return;
  wakeups.set(task.workerId, Math.min(wakeups.get(task.workerId) ?? now, now));
}

/** Sets the hint of the worker to when the task is due, unless there is an earlier one. */
export function tellOf(state: TenantState, { task, wake }: TaskRecord): void {
  const { workerId, dueAt, status } = task;
  if (!wake || dueAt === null || status === 'paused') return;
  state.wakeups.set(workerId, Math.min(state.wakeups.get(workerId) ?? dueAt, dueAt));
}

/** Removes a task. Its key is free at once, and so are the tasks that it holds. */
export function removeTask(state: TenantState, now: number, task: Task): void {
  const record = state.tasks.get(task.id);
  if (record !== undefined && waitsInLine(task)) wakeForGroup(state, now, record);
  state.tasks.delete(task.id);
  leaveKey(state, task, null);
  letGo(state, now, task.id);
}

/**
 * A task has no more use for its key. Where it was made beside one with the same key, and waited for that, the key goes
 * back to that one; else it is free at `freeAt`, or at once (null).
 */
function leaveKey(state: TenantState, task: Task, freeAt: number | null): void {
  if (task.key === null) return;
  const name = keyName(task.workerId, task.key);
  if (state.keys.get(name)?.taskId !== task.id) return;
  const other = task.heldBy === null ? undefined : state.tasks.get(task.heldBy)?.task;
  if (other !== undefined && other.key === task.key && other.workerId === task.workerId) {
    state.keys.set(name, { taskId: other.id, freeAt: null });
  } else if (freeAt === null) {
    state.keys.delete(name);
  } else {
    state.keys.set(name, { taskId: task.id, freeAt });
  }
}

/** Tasks that waited for this one are due at their time, or now. */
function letGo(state: TenantState, now: number, id: string): void {
  for (const record of [...state.tasks.values()]) {
    if (record.task.heldBy !== id) continue;
    const changes = { heldBy: null, dueAt: Math.max(record.task.runAt, now) };
    changeTask(state, now, record, changes, { event: 'updated', actor: STORE_ACTOR, changed: ['held_by'] });
  }
}
