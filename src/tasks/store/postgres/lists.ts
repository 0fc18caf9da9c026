import { firstIdAt } from '../../model/ids.ts';
import type { Task } from '../../model/task.ts';
import { STATUS, STATUS_CODES } from '../codes.ts';
import type { FoundTasks, TaskQuery, TaskSearch } from '../requests.ts';
import { narrowsList, type Piece, type PieceRequest, placeOf, readDuePlace, scan } from '../search.ts';
import type { Functions } from './functions.ts';
import { type TaskValues, tasksOf } from './rows/task-row.ts';

/** Bounds before and after all ids. */
const FIRST = '';
const LAST = '~';

export async function list(
  functions: Functions,
  tenant: string,
  query: TaskQuery,
  key: string | null = null,
): Promise<Task[]> {
  const { workerId, statuses, scheduleId, limit, order } = query;
  const { from, before } = idBounds(query);
  const way = key === null ? wayOf(query) : 'key';
  const hasStatus = way !== 'all' && way !== 'key';
  const numbers = [...new Set(statuses ?? STATUS_CODES)].map(status => String(STATUS[status]));
  const rows = await functions.read(
    'list',
    [
      ...[tenant, way, key === null ? workerId : null, key ?? scheduleId],
      way === 'schedule' && workerId !== null,
      // An index without a status is one range.
      hasStatus ? numbers : ['0'],
      ...[from, before, limit, order === 'desc'],
    ],
    tenant,
  );
  return tasksOf((rows ?? []) as TaskValues[]);
}

/** The index that serves a query. */
function wayOf({ workerId, statuses, scheduleId }: TaskQuery): 'all' | 'status' | 'worker' | 'schedule' {
  if (scheduleId !== null) return 'schedule';
  if (workerId !== null) return 'worker';
  return statuses === null ? 'all' : 'status';
}

/** Converts bounds of times to bounds of ids, which begin with their time. `from` is inclusive, `before` exclusive. */
function idBounds({ createdFrom, createdBefore, after, order }: TaskQuery): {
  readonly from: string;
  readonly before: string;
} {
  let from = createdFrom === null ? FIRST : firstIdAt('task', createdFrom);
  let before = createdBefore === null ? LAST : firstIdAt('task', createdBefore);
  if (after !== null && order === 'asc' && `${after} ` > from) from = `${after} `;
  if (after !== null && order === 'desc' && after < before) before = after;
  return { from, before };
}

/** Reads one piece of the list after the other. The first one is nearly always enough. */
export async function search(functions: Functions, tenant: string, wanted: TaskSearch): Promise<FoundTasks> {
  const scanning = scan(wanted, narrowsList(wanted));
  for (let step = scanning.next(); ; ) {
    if (step.done) return step.value;
    step = scanning.next(await pieceOf(functions, tenant, wanted, step.value));
  }
}

async function pieceOf(
  functions: Functions,
  tenant: string,
  wanted: TaskSearch,
  { after, limit }: PieceRequest,
): Promise<Piece> {
  // In the list of a schedule, tasks of one worker can be rare, so that finding enough of them could take very long.
  const workerId = wanted.scheduleId === null ? wanted.workerId : null;
  const piece = { ...wanted, workerId, after, limit };
  const tasks =
    piece.by === 'run_at'
      ? await dueTasks(functions, tenant, piece)
      : await list(functions, tenant, piece, piece.key);
  return { tasks, behind: tasks.length < limit ? null : placeOf(tasks[limit - 1], wanted.by) };
}

/** Both bounds are exclusive. Ids are not empty, so a time with an empty id precedes all tasks of that time. */
async function dueTasks(functions: Functions, tenant: string, wanted: TaskSearch): Promise<Task[]> {
  const { workerId, createdFrom, createdBefore, after, order, limit } = wanted;
  let low: readonly [number, string] = [createdFrom ?? -1, ''];
  let high: readonly [number, string] = [createdBefore ?? Number.MAX_SAFE_INTEGER, ''];
  if (after !== null) {
    const { dueAt, id } = readDuePlace(after);
    if (order === 'asc' && dueAt >= low[0]) low = [dueAt, id];
    if (order === 'desc' && dueAt < high[0]) high = [dueAt, id];
  }
  const args = [tenant, workerId, ...low, ...high, limit, order === 'desc'];
  const rows = await functions.readNow('list_due', args, tenant);
  return tasksOf(rows as TaskValues[]);
}
