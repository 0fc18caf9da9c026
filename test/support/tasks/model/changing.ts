import { isFinal, type Task } from '../../../../src/tasks/model/task.ts';
import { resolveTime } from '../../../../src/tasks/model/time.ts';
import type { ChangeAnswer, TaskChange, TaskPatch } from '../../../../src/tasks/store/requests.ts';
import { type ContentPatch, changedNames, patched } from './content.ts';
import { documentName, keyName, type TaskRecord, type TenantState } from './state.ts';
import { changeTask } from './writing.ts';

/** What can be changed while an attempt runs. */
const CHANGEABLE_WHILE_RUNNING = ['retry', 'tags', 'metadata'];

export function change(state: TenantState, now: number, id: string, request: TaskChange): ChangeAnswer {
  const record = state.tasks.get(id);
  if (record === undefined) return { kind: 'refused', reason: 'missing', task: null };
  const { task } = record;
  if (request.expectVersion !== null && request.expectVersion !== task.version) {
    return { kind: 'refused', reason: 'version', task };
  }
  return ACTIONS[request.action](state, now, record, { ...request, patch: resolved(request.patch, now) });
}

/** A patch whose delays are times. */
function resolved(patch: TaskPatch, now: number): ContentPatch {
  const { runAt, expiresAt, ...rest } = patch;
  return {
    ...rest,
    ...(runAt !== undefined && { runAt: resolveTime(runAt, now) }),
    ...(expiresAt !== undefined && { expiresAt: resolveTime(expiresAt, now) }),
  };
}

type Action = (
  state: TenantState,
  now: number,
  record: TaskRecord,
  request: TaskChange & { readonly patch: ContentPatch },
) => ChangeAnswer;

const ACTIONS: Readonly<Record<TaskChange['action'], Action>> = {
  update(state, now, record, { patch, actor }) {
    const { task } = record;
    if (isFinal(task.status)) return wrongStatus(task);
    const allowed = task.status === 'running' ? whileRunning(task, patch) : patch;
    const changed = changedNames(record, allowed);
    if (task.status === 'running' && changed.some(name => !CHANGEABLE_WHILE_RUNNING.includes(name))) {
      return wrongStatus(task);
    }
    if (changed.length === 0) return { kind: 'unchanged', task };
    const { changes, body } = patched(record, allowed);
    const moves = changed.includes('run_at') && task.heldBy === null;
    const dueAt = moves ? (allowed.runAt ?? task.dueAt) : task.dueAt;
    return done(
      changeTask(state, now, record, { ...changes, dueAt }, { event: 'updated', actor, changed }, { body }),
    );
  },

  pause(state, now, record, { actor }) {
    const { task } = record;
    if (task.status === 'paused') return { kind: 'unchanged', task };
    if (!isWaiting(task)) return wrongStatus(task);
    return done(changeTask(state, now, record, { status: 'paused' }, { event: 'paused', actor }));
  },

  resume(state, now, record, { actor }) {
    const { task } = record;
    if (isWaiting(task)) return { kind: 'unchanged', task };
    if (task.status !== 'paused') return wrongStatus(task);
    const status = task.startedAt === null ? 'scheduled' : 'retry';
    return done(changeTask(state, now, record, { status }, { event: 'resumed', actor }));
  },

  cancel(state, now, record, { actor }) {
    const { task } = record;
    if (task.status === 'canceled') return { kind: 'unchanged', task };
    if (isFinal(task.status)) return wrongStatus(task);
    if (task.status === 'running') {
      if (task.cancelRequestedAt !== null) return { kind: 'unchanged', task };
      const changes = { cancelRequestedAt: now };
      return done(changeTask(state, now, record, changes, { event: 'cancel_requested', actor }));
    }
    return done(changeTask(state, now, record, { status: 'canceled' }, { event: 'canceled', actor }));
  },

  replay(state, now, record, { patch, actor }) {
    const { task } = record;
    const hasWorker = state.documents.has(documentName('worker', task.workerId));
    if (!isFinal(task.status) || !hasWorker) return wrongStatus(task);
    if (!takeKeyAgain(state, now, task)) return { kind: 'refused', reason: 'key_taken', task };
    const changed = changedNames(record, patch);
    const { changes: content, body } = patched(record, patch);
    const { expiresAt } = { ...task, ...content };
    const changes: Partial<Task> = {
      ...content,
      status: 'scheduled',
      dueAt: patch.runAt ?? now,
      expiresAt: expiresAt !== null && expiresAt <= now ? null : expiresAt,
      attempt: 0,
      deferrals: 0,
      cancelRequestedAt: null,
      startedAt: null,
      finishedAt: null,
    };
    const rest = { body: { ...body, result: null }, settled: null };
    const details = { event: 'replayed', actor, ...(changed.length > 0 && { changed }) } as const;
    return done(changeTask(state, now, record, changes, details, rest));
  },

  run(state, now, record, { actor }) {
    const { task } = record;
    if (!isWaiting(task) || task.heldBy !== null) return wrongStatus(task);
    const details = { event: 'updated', actor, changed: ['run_at'] } as const;
    return done(changeTask(state, now, record, { dueAt: now }, details));
  },

  expire(state, now, record, { actor }) {
    const { task } = record;
    if (!isWaiting(task) || task.expiresAt === null || task.expiresAt > now) return wrongStatus(task);
    return done(changeTask(state, now, record, { status: 'expired' }, { event: 'expired', actor }));
  },
};

function done(task: Task): ChangeAnswer {
  return { kind: 'done', task };
}

function wrongStatus(task: Task): ChangeAnswer {
  return { kind: 'refused', reason: 'status', task };
}

export function isWaiting(task: Task): boolean {
  return task.status === 'scheduled' || task.status === 'retry';
}

/** Of the policy only the number of attempts can change while one runs. */
function whileRunning(task: Task, patch: ContentPatch): ContentPatch {
  if (patch.retry === undefined) return patch;
  return { ...patch, retry: { ...task.retry, maxAttempts: patch.retry.maxAttempts } };
}

/** A task that begins anew needs its key; false when another has it. */
function takeKeyAgain(state: TenantState, now: number, task: Task): boolean {
  if (task.key === null) return true;
  const name = keyName(task.workerId, task.key);
  const held = state.keys.get(name);
  const taken = held !== undefined && held.taskId !== task.id && (held.freeAt === null || held.freeAt > now);
  if (!taken) state.keys.set(name, { taskId: task.id, freeAt: null });
  return !taken;
}
