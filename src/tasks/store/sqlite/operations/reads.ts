import { firstIdAt } from '../../../model/ids.ts';
import { bodyBytes, type HistoryEntry, type Task, type TaskBody } from '../../../model/task.ts';
import { PRIORITIES } from '../../../model/task-content.ts';
import { STATUS, STATUS_CODES } from '../../codes.ts';
import type {
  DueTasks,
  FoundTasks,
  HistoryQuery,
  StatusCounts,
  TaskQuery,
  TaskSearch,
  Wakeup,
} from '../../requests.ts';
import { narrowsList, type Piece, type PieceRequest, placeOf, readDuePlace, scan } from '../../search.ts';
import { MAX_DUE, MAX_DUE_WORKERS, READ_BYTES } from '../../task-store.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import { readHistory } from '../rows/history.ts';
import { bodyAt, bodyOf, findTask, readTasks, shown, TASK_COLUMN_LIST } from '../rows/task-row.ts';
import { readTenant, readWorker, type View } from '../rows/work.ts';

const BODY_BY_ID = `SELECT payload, headers, result FROM task INDEXED BY task_id CROSS JOIN body ON body.seq = task.seq
  WHERE tenant = ? AND id = ?`;

export function get(view: View, tenant: string, id: string): Task | null {
  const number = view.numbers.ofTenant(tenant);
  const found = number === null ? null : findTask(view, number, id);
  return found === null ? null : shown(view, found.row);
}

export function getWhole(
  view: View,
  tenant: string,
  id: string,
): { readonly task: Task; readonly body: TaskBody } | null {
  const number = view.numbers.ofTenant(tenant);
  const found = number === null ? null : findTask(view, number, id);
  return found === null ? null : { task: shown(view, found.row), body: bodyAt(view, found.row.seq) };
}

export function bodies(
  view: View,
  tenant: string,
  ids: readonly string[],
): ReadonlyMap<string, TaskBody | null> {
  const found = new Map<string, TaskBody | null>();
  const number = view.numbers.ofTenant(tenant);
  let bytes = 0;
  for (const id of ids) {
    const row = number === null ? undefined : view.statements.one(BODY_BY_ID, number, id);
    const body = row === undefined ? null : bodyOf(row);
    if (body !== null) {
      const more = bodyBytes(body);
      if (bytes > 0 && bytes + more > READ_BYTES) break;
      bytes += more;
    }
    found.set(id, body);
  }
  return found;
}

/** Bounds before and after all ids. */
const FIRST = '';
const LAST = '~';

/** The index that serves a query, by the conditions that it covers. */
type Way = 'all' | 'status' | 'worker' | 'schedule' | 'schedule_worker';

/**
 * Lists tasks in the order of their ids. The statement names the index, because without statistics SQLite would choose one
 * without the status and scan it. Each status is one range of an index. SQLite merges several ranges while it reads them,
 * so that the cost of a page depends only on its size.
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

/** Statuses of the ranges to read. An index without a status has one range, so the list has one arbitrary number. */
function statusesOf({ statuses }: TaskQuery, way: Way): readonly number[] {
  if (way === 'all') return [0];
  return [...new Set(statuses ?? STATUS_CODES)].map(status => STATUS[status]);
}

/** Converts bounds of times to bounds of ids, which begin with their time. `from` is inclusive, `before` exclusive. */
function idBounds({ createdFrom, createdBefore, after, order }: TaskQuery): {
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

/** @param ranges number of statuses */
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
 * The waiting tasks of a worker are in one range for each priority and one for tasks with a group. `due_at IS NOT NULL` and
 * the conditions for `grp` match the conditions of the indexes.
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

/** Both bounds are exclusive. Ids are not empty, so a time with an empty id precedes all tasks of that time. */
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

const WAKEUPS = `SELECT tenant, id, wake_at FROM worker INDEXED BY worker_wake
  WHERE wake_at <= ? ORDER BY wake_at ${LIMIT}`;
const TENANTS = `SELECT name FROM tenant INDEXED BY tenant_known WHERE known = 1 AND name > ? ORDER BY name ${LIMIT}`;

const COUNT_DUE = `SELECT count(*) FROM (SELECT 1 FROM task INDEXED BY task_due_at
  WHERE status IN (0, 2) AND due_at <= ? ${LIMIT})`;

const NO_COUNTS = STATUS_CODES.map(() => 0);

export function counts({ statements, numbers }: View, tenant: string, workerId: string | null): StatusCounts {
  const number = numbers.ofTenant(tenant);
  let found: readonly number[] = NO_COUNTS;
  if (number !== null && workerId === null) found = readTenant(statements, number).counts;
  if (number !== null && workerId !== null) {
    const worker = numbers.ofWorker(number, workerId);
    if (worker !== null) found = readWorker(statements, worker).counts;
  }
  return Object.fromEntries(STATUS_CODES.map((status, code) => [status, found[code]])) as StatusCounts;
}

export function countDue({ statements, now }: View, max: number): number {
  return statements.one(COUNT_DUE, now, max)![0] as number;
}

const WAITING_WORKERS = `SELECT no FROM worker WHERE tenant = ? AND n0 + n2 > 0 ORDER BY id ${LIMIT}`;

/** The first due times of one range of {@link DUE_RANGES}. */
const DUE_TIMES = `SELECT * FROM (SELECT due_at FROM task INDEXED BY task_due
  WHERE worker = ? AND band = ? AND status IN (0, 2) AND due_at IS NOT NULL AND grp IS NULL AND due_at <= ?
  ORDER BY due_at ${LIMIT})`;
const DUE_TIMES_OF_GROUPS = `SELECT * FROM (SELECT due_at FROM task INDEXED BY task_group_waiting
  WHERE worker = ? AND status IN (0, 2) AND due_at IS NOT NULL AND grp IS NOT NULL AND due_at <= ?
  ORDER BY due_at ${LIMIT})`;
const DUE_OF_WORKER = `SELECT count(*), min(due_at) FROM (
  ${[...PRIORITIES.map(() => DUE_TIMES), DUE_TIMES_OF_GROUPS].join(' UNION ALL ')})`;

/** Once enough tasks are counted, only the first one of each further range is read. */
export function dueOf({ statements, numbers, now }: View, tenant: string): DueTasks {
  const number = numbers.ofTenant(tenant);
  if (number === null) return { count: 0, oldestAt: null };
  let count = 0;
  let oldestAt: number | null = null;
  for (const [worker] of statements.all(WAITING_WORKERS, number, MAX_DUE_WORKERS)) {
    const left = Math.max(1, MAX_DUE - count);
    const ranges = PRIORITIES.flatMap((_, band) => [worker, band, now, left]);
    const [found, first] = statements.one(DUE_OF_WORKER, ...ranges, worker, now, left)!;
    count = Math.min(MAX_DUE, count + (found as number));
    if (first !== null && (oldestAt === null || (first as number) < oldestAt)) oldestAt = first as number;
  }
  return { count, oldestAt };
}

export function wakeups({ statements, numbers }: View, until: number, max: number): readonly Wakeup[] {
  return statements.all(WAKEUPS, until, max).map(([tenant, workerId, at]) => ({
    tenant: numbers.tenantName(tenant as number),
    workerId: workerId as string,
    at: at as number,
  }));
}

export function tenants({ statements }: View, after: string | null, limit: number): readonly string[] {
  return statements.all(TENANTS, after ?? '', limit).map(([name]) => name as string);
}

export function now(view: View): number {
  return view.now;
}
