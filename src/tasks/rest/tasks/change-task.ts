import { isId } from '../../model/ids.ts';
import { tellLetGo } from '../../model/signals.ts';
import { isFinal, type Task } from '../../model/task.ts';
import type { ChangeAnswer, RemoveAnswer, TaskChange } from '../../store/requests.ts';
import { Problem } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import { expectedVersion, meantVersions, versionMismatch } from '../http/request-headers.ts';
import type { Call } from '../http/route.ts';

export type TaskAction = TaskChange['action'];

/**
 * The id of a task in a path.
 *
 * @throws Problem not_found for what can be no id, without asking the store
 */
export function taskId(text: string): string {
  if (!isId('task', text)) throw noSuchTask(text);
  return text;
}

export function noSuchTask(text: string): Problem {
  return new Problem('not_found', `there is no task ${JSON.stringify(text.slice(0, 64))}`);
}

/**
 * The version of a task that a request is meant for; null for any. The task is read only if `If-Match` does not name
 * exactly one version.
 *
 * @throws Problem invalid_parameter, not_found or version_mismatch
 */
export async function meantVersion(
  { store }: Pick<RestParts, 'store'>,
  call: Call,
  id: string,
): Promise<number | null> {
  const meant = meantVersions(call);
  if (meant === null || meant.length === 1) return meant?.[0] ?? null;
  const task = await store.get(call.tenant, id);
  if (task === null) throw noSuchTask(id);
  return expectedVersion(meant, task.version);
}

/** Changes a task, and wakes whoever has to know. A task whose worker is gone is not replayed. */
export async function changeTask(
  parts: Pick<RestParts, 'store' | 'directory' | 'signals'>,
  tenant: string,
  id: string,
  change: TaskChange,
): Promise<ChangeAnswer> {
  if (change.action === 'replay') {
    const task = await parts.store.get(tenant, id);
    const worker = task && (await parts.directory.get(tenant, 'worker', task.workerId));
    if (worker === null) return { kind: 'refused', reason: task === null ? 'missing' : 'status', task };
  }
  const answer = await parts.store.change(tenant, id, change);
  if (answer.kind === 'done') tellChange(parts, tenant, change, answer.task);
  return answer;
}

/**
 * Removes a task, and wakes those that it held.
 *
 * @param known the task as it was a moment ago; null where it was not read
 */
export async function removeTask(
  { store, signals }: Pick<RestParts, 'store' | 'signals'>,
  tenant: string,
  id: string,
  expectVersion: number | null,
  known: Task | null,
): Promise<RemoveAnswer> {
  const task = known ?? (await store.get(tenant, id));
  if (task === null) return 'missing';
  const answer = await store.remove(tenant, id, expectVersion);
  if (answer === 'removed' && !isFinal(task.status)) tellLetGo(signals, tenant, task, await store.now());
  return answer;
}

function tellChange(
  { signals }: Pick<RestParts, 'signals'>,
  tenant: string,
  { action, patch }: TaskChange,
  task: Task,
): void {
  if (task.status === 'running') {
    if (action === 'cancel') signals.tell('cancelRequested', tenant, task.id);
    return;
  }
  if (isFinal(task.status)) {
    tellLetGo(signals, tenant, task, task.finishedAt ?? task.updatedAt);
    return;
  }
  const renewed = action === 'resume' || action === 'replay' || action === 'run' || patch.runAt !== undefined;
  const waits = task.status === 'scheduled' || task.status === 'retry';
  if (renewed && waits && task.dueAt !== null) signals.tell('taskDue', tenant, task.workerId, task.dueAt);
}

type RefusedChange = Extract<ChangeAnswer, { readonly kind: 'refused' }>;

/** What a refused change means to the caller. */
export function changeProblem(id: string, action: TaskAction, { reason, task }: RefusedChange): Problem {
  switch (reason) {
    case 'missing':
      return noSuchTask(id);
    case 'version':
      return versionMismatch();
    case 'key_taken': {
      const detail = `another task of the worker has the key ${JSON.stringify(task?.key)} by now: wait for its end, or make a new task`;
      return new Problem('task_key_exists', detail);
    }
    case 'status':
      return transitionProblem(action, task);
  }
}

/** An action that the status of a task does not allow. */
export function transitionProblem(action: TaskAction, task: Task | null): Problem {
  const status = task?.status;
  const detail = `a task that is ${WORDS[status ?? 'scheduled']} cannot be ${DONE[action]}${adviceOn(action, task)}`;
  const code = status === 'running' && action === 'update' ? 'task_running' : 'invalid_transition';
  return new Problem(code, detail, { members: { task_status: status } });
}

const WORDS: Readonly<Record<Task['status'], string>> = {
  scheduled: 'scheduled',
  running: 'running',
  retry: 'waiting for another attempt',
  paused: 'paused',
  succeeded: 'succeeded',
  failed: 'failed',
  canceled: 'canceled',
  expired: 'expired',
};

const DONE: Readonly<Record<TaskAction, string>> = {
  update: 'changed',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'canceled',
  replay: 'replayed',
  run: 'run now',
  expire: 'expired',
};

function adviceOn(action: TaskAction, task: Task | null): string {
  if (task === null) return '';
  if (task.status === 'running') return ': wait for the end of the attempt, or cancel it';
  if (isFinal(task.status)) {
    if (action === 'replay') return `: its worker "${task.worker}" is gone; make a new task for another`;
    return action === 'cancel' ? '' : ': replay it, by POST …/retry or by the status "scheduled"';
  }
  if (action === 'replay') return ': that is for tasks that are over; to start it at once use POST …/run';
  if (task.heldBy !== null) return `: it waits for the end of task ${task.heldBy}`;
  if (task.status === 'paused') return ': resume it first';
  return '';
}
