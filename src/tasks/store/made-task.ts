import type { Task } from '../model/task.ts';
import { resolveTime } from '../model/time.ts';
import type { NewTask } from './requests.ts';

/** What the answer for a task that was just created must say, because it does not follow from the request. */
export interface Made {
  /** The time of the store's step. */
  readonly at: number;
  readonly heldBy: string | null;
}

/** A task that was just created. */
export function madeTask({ task }: NewTask, { at, heldBy }: Made): Task {
  const runAt = resolveTime(task.runAt, at);
  return {
    ...task,
    runAt,
    expiresAt: resolveTime(task.expiresAt, at),
    heldBy,
    status: 'scheduled',
    dueAt: heldBy === null ? runAt : null,
    attempt: 0,
    deferrals: 0,
    lastError: null,
    cancelRequestedAt: null,
    updatedAt: at,
    startedAt: null,
    finishedAt: null,
    version: 1,
  };
}
