import { isId } from '../../model/ids.ts';
import { tellLetGo } from '../../model/signals.ts';
import { isFinal, type Task } from '../../model/task.ts';
import type { ChangeAnswer, RemoveAnswer, TaskChange } from '../../store/requests.ts';
import { Problem } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import { expectedVersion, expectedVersions, versionMismatch } from '../http/request-headers.ts';
import type { Call } from '../http/route.ts';

export type TaskAction = TaskChange['action'];

/**
 * Checks the id of a task in a path.
 *
 * @throws Problem `not_found` if the text is not an id, without a call of the store
 */
export function taskId(text: string): string {
  if (!isId('task', text)) throw noSuchTask(text);
  return text;
}

export function noSuchTask(text: string): Problem {
  return new Problem('not_found', `There is no task ${JSON.stringify(text.slice(0, 64))}.`);
}

/**
 * The version of a task that `If-Match` requires; null for any version. The task is read only if `If-Match` names several
 * versions.
 *
 * @throws Problem invalid_parameter, not_found or version_mismatch
 */
export async function requiredVersion(
  { store }: Pick<RestParts, 'store'>,
  call: Call,
  id: string,
): Promise<number | null> {
  const meant = expectedVersions(call);
  if (meant === null || meant.length === 1) return meant?.[0] ?? null;
  const task = await store.get(call.tenant, id);
  if (task === null) throw noSuchTask(id);
  return expectedVersion(meant, task.version);
}

/** Changes a task and sends the signals about it. */
export async function changeTask(
  parts: Pick<RestParts, 'store' | 'signals'>,
  tenant: string,
  id: string,
  change: TaskChange,
): Promise<ChangeAnswer> {
  const answer = await parts.store.change(tenant, id, change);
  if (answer.kind === 'done') signalChange(parts, tenant, change, answer.task);
  return answer;
}

/**
 * Deletes a task, and signals that tasks held by it, or behind it in its group, can start.
 *
 * @param what the id of the task, or the task as read a moment ago
 */
export async function removeTask(
  { store, signals }: Pick<RestParts, 'store' | 'signals'>,
  tenant: string,
  what: string | Task,
  expectVersion: number | null,
): Promise<RemoveAnswer> {
  const task = typeof what === 'string' ? await store.get(tenant, what) : what;
  if (task === null) return 'missing';
  const answer = await store.remove(tenant, task.id, expectVersion);
  if (answer === 'removed' && !isFinal(task.status)) tellLetGo(signals, tenant, task, await store.now());
  return answer;
}

function signalChange(
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
  // In a fifo group, the next task may be the first one now.
  if (task.group !== null && (action === 'pause' || patch.runAt !== undefined)) {
    tellLetGo(signals, tenant, task, task.updatedAt);
  }
  const renewed = action === 'resume' || action === 'replay' || action === 'run' || patch.runAt !== undefined;
  const waits = task.status === 'scheduled' || task.status === 'retry';
  if (renewed && waits && task.dueAt !== null) signals.tell('taskDue', tenant, task.workerId, task.dueAt);
}

type RefusedChange = Extract<ChangeAnswer, { readonly kind: 'refused' }>;

/** The response to a change that the store rejected. */
export function changeProblem(id: string, action: TaskAction, { reason, task }: RefusedChange): Problem {
  switch (reason) {
    case 'missing':
      return noSuchTask(id);
    case 'version':
      return versionMismatch();
    case 'key_taken': {
      const detail = `Another open task of the worker has the key ${JSON.stringify(task?.key)}. Wait until it finishes, or create a new task.`;
      return new Problem('task_key_exists', detail);
    }
    case 'status':
      return transitionProblem(action, task);
  }
}

/** The response to an action that the status of the task does not allow. */
export function transitionProblem(action: TaskAction, task: Task | null): Problem {
  const status = task?.status;
  const detail = `A task that is ${WORDS[status ?? 'scheduled']} cannot be ${DONE[action]}.${adviceOn(action, task)}`;
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
  if (task.status === 'running') return ' Wait until the attempt ends, or cancel the task.';
  if (isFinal(task.status)) {
    if (action === 'replay')
      return ` Its worker "${task.worker}" was deleted. Create a new task for another worker.`;
    return action === 'cancel' ? '' : ' Replay it with POST …/retry or with the status "scheduled".';
  }
  if (action === 'replay')
    return ' Only finished tasks can be replayed. To start the task now, use POST …/run.';
  if (task.heldBy !== null) return ` It waits until task ${task.heldBy} finishes.`;
  if (task.status === 'paused') return ' Resume it first.';
  return '';
}
