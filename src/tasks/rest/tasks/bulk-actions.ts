import { type Actor, FINAL_STATUSES, isFinal, type Task, type TaskStatus } from '../../model/task.ts';
import type { ProblemCode } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import { changeProblem, changeTask, removeTask, type TaskAction } from './change-task.ts';

/** What can be done to many tasks at once. */
export const BULK_ACTIONS = ['retry', 'cancel', 'pause', 'resume', 'run', 'delete'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/**
 * Which tasks a filter without a status means: those that the action is for. Succeeded tasks are retried, and others
 * than those that are over are deleted, only by those who say so.
 */
export const MEANT_STATUSES: Readonly<Record<BulkAction, readonly TaskStatus[]>> = {
  retry: ['failed', 'expired'],
  cancel: ['scheduled', 'running', 'retry', 'paused'],
  pause: ['scheduled', 'retry'],
  resume: ['paused'],
  run: ['scheduled', 'retry'],
  delete: FINAL_STATUSES,
};

const CHANGES: Readonly<Record<Exclude<BulkAction, 'delete'>, TaskAction>> = {
  retry: 'replay',
  cancel: 'cancel',
  pause: 'pause',
  resume: 'resume',
  run: 'run',
};

/** Why a task was left as it is: a problem's code, or `unchanged` where it is so already. */
export type SkipCode = ProblemCode | 'unchanged';

/** Does it to one task, by its id or as it was a moment ago. @returns null when it was changed */
export async function actOn(
  parts: RestParts,
  tenant: string,
  what: string | Task,
  action: BulkAction,
  actor: Actor,
): Promise<SkipCode | null> {
  const [id, known] = typeof what === 'string' ? [what, null] : [what.id, what];
  if (action === 'delete') {
    const answer = await removeTask(parts, tenant, id, null, known);
    if (answer === 'removed') return null;
    return answer === 'running' ? 'task_running' : 'not_found';
  }
  const change = { action: CHANGES[action], patch: {}, expectVersion: null, actor };
  const answer = await changeTask(parts, tenant, id, change);
  if (answer.kind === 'refused') return changeProblem(id, change.action, answer).code;
  return answer.kind === 'unchanged' ? 'unchanged' : null;
}

/** What {@link actOn} would come to, as far as the task itself can tell: whether its key is free is not looked at. */
export function wouldSkip(task: Task, action: BulkAction): SkipCode | null {
  const { status, heldBy, cancelRequestedAt } = task;
  const waits = status === 'scheduled' || status === 'retry';
  switch (action) {
    case 'retry':
      return isFinal(status) ? null : 'invalid_transition';
    case 'cancel':
      if (status === 'canceled' || (status === 'running' && cancelRequestedAt !== null)) return 'unchanged';
      return isFinal(status) ? 'invalid_transition' : null;
    case 'pause':
      if (status === 'paused') return 'unchanged';
      return waits ? null : 'invalid_transition';
    case 'resume':
      if (waits) return 'unchanged';
      return status === 'paused' ? null : 'invalid_transition';
    case 'run':
      return waits && heldBy === null ? null : 'invalid_transition';
    case 'delete':
      return status === 'running' ? 'task_running' : null;
  }
}
