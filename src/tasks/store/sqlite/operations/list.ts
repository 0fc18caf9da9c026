import { firstIdAt } from '../../../model/ids.ts';
import type { HistoryEntry, Task } from '../../../model/task.ts';
import type { HistoryQuery, TaskQuery } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { STATUS, STATUS_CODES } from '../rows/codes.ts';
import { readHistory } from '../rows/history.ts';
import { readTasks } from '../rows/read-task.ts';
import { TASK_COLUMN_LIST } from '../rows/task-row.ts';
import type { View } from '../rows/work.ts';

/** Before, and behind, every id. */
const FIRST = '';
const LAST = '~';

/** Which index serves a query, and what of the query it finds. */
type Way = 'all' | 'status' | 'worker' | 'schedule' | 'schedule_worker';

/**
 * Tasks in the order of their ids. The index is named, because SQLite would take one without the status where it has
 * no statistics, and walk it. One status is one range of an index. Several are as many ranges, which SQLite merges
 * while it reads them, so that a page costs what it holds.
 */
export function list(view: View, tenant: string, query: TaskQuery): readonly Task[] {
  const { numbers, statements } = view;
  const tenantNumber = numbers.ofTenant(tenant);
  if (tenantNumber === null) return [];
  const worker = query.workerId === null ? null : numbers.ofWorker(tenantNumber, query.workerId);
  if (query.workerId !== null && worker === null) return [];
  const way = wayOf(query);
  const statuses = statusesOf(query, way);
  const { from, before } = idBounds(query);
  const ranges = statuses.flatMap(status => [
    ...(way === 'worker' ? [worker] : [tenantNumber]),
    ...(query.scheduleId === null ? [] : [query.scheduleId]),
    ...(way === 'all' ? [] : [status]),
    from,
    before,
    ...(way === 'schedule_worker' ? [worker] : []),
  ]);
  return readTasks(view, statements.all(listSql(way, statuses.length, query.order), ...ranges, query.limit));
}

function wayOf({ workerId, statuses, scheduleId }: TaskQuery): Way {
  if (scheduleId !== null) return workerId === null ? 'schedule' : 'schedule_worker';
  if (workerId !== null) return 'worker';
  return statuses === null ? 'all' : 'status';
}

/** Ranges to be read; without a status in the index there is one, of any number. */
function statusesOf({ statuses }: TaskQuery, way: Way): readonly number[] {
  if (way === 'all') return [0];
  return [...new Set(statuses ?? STATUS_CODES)].map(status => STATUS[status]);
}

/** The ids of a time are known, so bounds of time are bounds of ids. `from` is included, `before` is not. */
export function idBounds({ createdFrom, createdBefore, after, order }: TaskQuery): {
  readonly from: string;
  readonly before: string;
} {
  let from = createdFrom === null ? FIRST : firstIdAt('task', createdFrom);
  let before = createdBefore === null ? LAST : firstIdAt('task', createdBefore);
  if (after !== null && order === 'asc') from = later(from, `${after} `);
  if (after !== null && order === 'desc') before = after < before ? after : before;
  return { from, before };
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

const INDEX: Readonly<
  Record<Way, { readonly name: string; readonly equals: string; readonly also: string }>
> = {
  all: { name: 'task_id', equals: 'tenant = ?', also: '' },
  status: { name: 'task_status', equals: 'tenant = ? AND status = ?', also: '' },
  worker: { name: 'task_worker', equals: 'worker = ? AND status = ?', also: '' },
  schedule: { name: 'task_schedule', equals: 'tenant = ? AND schedule = ? AND status = ?', also: '' },
  schedule_worker: {
    name: 'task_schedule',
    equals: 'tenant = ? AND schedule = ? AND status = ?',
    also: ' AND worker = ?',
  },
};

/** @param ranges how many statuses are asked for */
function listSql(way: Way, ranges: number, order: 'asc' | 'desc', columns = TASK_COLUMN_LIST): string {
  const { name, equals, also } = INDEX[way];
  const range = `SELECT ${columns} FROM task INDEXED BY ${name} WHERE ${equals} AND id >= ? AND id < ?${also}`;
  return `${Array(ranges).fill(range).join(' UNION ALL ')} ORDER BY id ${order} ${LIMIT}`;
}

const OPEN = [STATUS.scheduled, STATUS.running, STATUS.retry, STATUS.paused];

export function openOfSchedule(
  { statements, numbers }: View,
  tenant: string,
  scheduleId: string,
  limit: number,
): readonly string[] {
  const number = numbers.ofTenant(tenant);
  if (number === null) return [];
  const ranges = OPEN.flatMap(status => [number, scheduleId, status, FIRST, LAST]);
  const sql = listSql('schedule', OPEN.length, 'asc', 'id');
  return statements.all(sql, ...ranges, limit).map(([id]) => id as string);
}

const PLACE = 'SELECT seq, events FROM task INDEXED BY task_id WHERE tenant = ? AND id = ?';

export function history(
  view: View,
  tenant: string,
  id: string,
  query: HistoryQuery,
): readonly HistoryEntry[] | null {
  const row = view.statements.one(PLACE, view.numbers.ofTenant(tenant), id);
  if (row === undefined) return null;
  return readHistory(view, { seq: row[0] as number, events: row[1] as number }, query);
}
