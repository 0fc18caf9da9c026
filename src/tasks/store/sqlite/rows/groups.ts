import { isWaitingCode, STATUS } from './codes.ts';
import type { TaskRow } from './task-row.ts';
import type { Work } from './work.ts';

const COUNT_START = `INSERT INTO task_group (worker, name, running) VALUES (?, ?, 1)
  ON CONFLICT (worker, name) DO UPDATE SET running = running + 1`;
/** Room in a full group makes it worth a look again. */
const COUNT_END = `UPDATE task_group SET running = running - 1, next_at = ?, full = NULL WHERE worker = ? AND name = ?`;
/** A full group is looked at when one of its tasks ends, not before. */
const LOOK_AT = `INSERT INTO task_group (worker, name, running, next_at) VALUES (?, ?, 0, ?)
  ON CONFLICT (worker, name) DO UPDATE SET next_at = min(ifnull(next_at, excluded.next_at), excluded.next_at)
  WHERE full IS NULL`;
export const FORGET_IDLE = `DELETE FROM task_group WHERE worker = ? AND name = ? AND running = 0 AND NOT EXISTS (
  SELECT 1 FROM task INDEXED BY task_group_line
  WHERE worker = task_group.worker AND grp = task_group.name AND status IN (0, 2) AND due_at IS NOT NULL)`;

/**
 * Keeps the row of a task's group, in the step that changes the task.
 *
 * @param row of a task with a group, as it is now, or as it was when it has been removed
 * @param from its status before; null for a new task
 */
export function followGroup(work: Work, row: TaskRow, from: number | null): void {
  const { statements, now } = work;
  const { worker, grp: group } = row;
  if (group === null) return;
  if (from === null) {
    if (row.due_at !== null) statements.run(LOOK_AT, worker, group, row.due_at);
    return;
  }
  const [ran, runs] = [from === STATUS.running, row.status === STATUS.running];
  if (ran && runs) return;
  if (runs) {
    statements.run(COUNT_START, worker, group);
    return;
  }
  if (ran) {
    statements.run(COUNT_END, now, worker, group);
    if (row.wake === 1) wakeNow(work, worker);
  } else if (isWaitingCode(from) || isWaitingCode(row.status)) {
    statements.run(LOOK_AT, worker, group, now);
  }
  statements.run(FORGET_IDLE, worker, group);
}

/** Another task of the group may start. */
function wakeNow(work: Work, number: number): void {
  const worker = work.workerOf(number);
  worker.wakeAt = Math.min(worker.wakeAt ?? work.now, work.now);
  worker.changed = true;
}
