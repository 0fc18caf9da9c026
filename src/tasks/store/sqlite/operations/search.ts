import { PRIORITIES, type Task } from '../../../model/task.ts';
import type { FoundTasks, TaskSearch } from '../../requests.ts';
import { narrowsList, type Piece, type PieceRequest, placeOf, readDuePlace, scan } from '../../search.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import { readTasks } from '../rows/read-task.ts';
import { TASK_COLUMN_LIST } from '../rows/task-row.ts';
import type { View } from '../rows/work.ts';
import { idBounds, list } from './list.ts';

export function search(view: View, tenant: string, wanted: TaskSearch): FoundTasks {
  const scanning = scan(wanted, narrowsList(wanted));
  for (let step = scanning.next(); ; ) {
    if (step.done) return step.value;
    step = scanning.next(pieceOf(view, tenant, wanted, step.value));
  }
}

function pieceOf(view: View, tenant: string, wanted: TaskSearch, { after, limit }: PieceRequest): Piece {
  const tasks = readPiece(view, tenant, { ...wanted, after, limit });
  return { tasks, behind: tasks.length < limit ? null : placeOf(tasks[limit - 1], wanted.by) };
}

function readPiece(view: View, tenant: string, wanted: TaskSearch): readonly Task[] {
  if (wanted.by === 'created_at' && wanted.key === null) return list(view, tenant, wanted);
  const number = view.numbers.ofTenant(tenant);
  if (number === null) return [];
  const rows = wanted.by === 'run_at' ? dueRows(view, number, wanted) : rowsOfKey(view, number, wanted);
  return readTasks(view, rows);
}

const OF_KEY = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_of_key
  WHERE tenant = ? AND key = ? AND id >= ? AND id < ?`;

function rowsOfKey({ statements }: View, tenant: number, wanted: TaskSearch): readonly Row[] {
  const { from, before } = idBounds(wanted);
  const sql = `${OF_KEY} ORDER BY id ${wanted.order} ${LIMIT}`;
  return statements.all(sql, tenant, wanted.key, from, before, wanted.limit);
}

/**
 * Waiting tasks of a worker lie in a range for each priority, and one for those with a group. `due_at IS NOT NULL` and what
 * is said of `grp` are what the indexes have by their conditions.
 */
const WAITING = `status IN (0, 2) AND due_at IS NOT NULL
  AND (due_at, id) > (?, ?) AND (due_at, id) < (?, ?) AND (expires_at IS NULL OR expires_at > ?)`;
const DUE = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_due
  WHERE worker = ? AND band = ? AND grp IS NULL AND ${WAITING}`;
const DUE_OF_GROUPS = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_group_waiting
  WHERE worker = ? AND grp IS NOT NULL AND ${WAITING}`;
const DUE_RANGES = [...PRIORITIES.map(() => DUE), DUE_OF_GROUPS].join(' UNION ALL ');

function dueRows({ statements, numbers, now }: View, tenant: number, wanted: TaskSearch): readonly Row[] {
  const worker = wanted.workerId === null ? null : numbers.ofWorker(tenant, wanted.workerId);
  if (worker === null) return [];
  const { low, high } = dueBounds(wanted);
  const ranges = PRIORITIES.flatMap((_, band) => [worker, band, ...low, ...high, now]);
  const { order } = wanted;
  const sql = `${DUE_RANGES} ORDER BY due_at ${order}, id ${order} ${LIMIT}`;
  return statements.all(sql, ...ranges, worker, ...low, ...high, now, wanted.limit);
}

type DueBound = readonly [dueAt: number, id: string];

/** Neither bound is part of the range. No id is empty, so a time with an empty id is before all tasks of that time. */
function dueBounds({ createdFrom, createdBefore, after, order }: TaskSearch): {
  low: DueBound;
  high: DueBound;
} {
  let low: DueBound = [createdFrom ?? -1, ''];
  let high: DueBound = [createdBefore ?? Number.MAX_SAFE_INTEGER, ''];
  if (after !== null) {
    const { dueAt, id } = readDuePlace(after);
    if (order === 'asc' && dueAt >= low[0]) low = [dueAt, id];
    if (order === 'desc' && dueAt < high[0]) high = [dueAt, id];
  }
  return { low, high };
}
