import type { Signals } from '../../model/signals.ts';
import { isFinal, type Task } from '../../model/task.ts';

/**
 * Tells what follows from the end of an attempt: there is room for another of the worker, and a task may have become
 * due, be it the same one or one that this one held.
 *
 * @param task as it is now
 * @param nowMs by the store's clock
 */
export function tellEnd(signals: Signals, tenant: string, task: Task, nowMs: number): void {
  signals.tell('roomFor', tenant, task.workerId);
  if (task.dueAt !== null) signals.tell('taskDue', tenant, task.workerId, task.dueAt);
  else if (isFinal(task.status)) tellLetGo(signals, tenant, task, nowMs);
}

/**
 * Tells what follows where a task ends without an attempt, or is removed: one that it held may have become due.
 *
 * @param nowMs by the store's clock
 */
export function tellLetGo(
  signals: Signals,
  tenant: string,
  { workerId, key, scheduleId }: Pick<Task, 'workerId' | 'key' | 'scheduleId'>,
  nowMs: number,
): void {
  // Only a task with a key, or of a schedule, can hold others.
  if (key !== null || scheduleId !== null) signals.tell('taskDue', tenant, workerId, nowMs);
}
