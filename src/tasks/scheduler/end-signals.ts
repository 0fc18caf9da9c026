import type { Signals } from '../model/signals.ts';
import { isFinal, type Task } from '../model/task.ts';

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
  // Only a task with a key, or of a schedule, can hold others.
  else if (isFinal(task.status) && (task.key !== null || task.scheduleId !== null)) {
    signals.tell('taskDue', tenant, task.workerId, nowMs);
  }
}
