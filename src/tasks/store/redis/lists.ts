import { type HistoryEntry, TASK_STATUSES, type Task } from '../../model/task.ts';
import type { FoundTasks, HistoryQuery, TaskQuery, TaskSearch } from '../requests.ts';
import {
  duePlace,
  narrowsList,
  type Piece,
  type PieceRequest,
  placeOf,
  readDuePlace,
  scan,
} from '../search.ts';
import type { Argument } from './connection/redis-client.ts';
import { entryOf, gapOf, idBounds, type Reply, STATUS_NUMBER, tasksOf } from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';

/** Runs a script that reads, for one tenant. */
export type ReadScript = (script: Script, args: readonly Argument[]) => Promise<Reply>;

/** Numbers of the statuses that are not final. */
const OPEN = [STATUS_NUMBER.scheduled, STATUS_NUMBER.running, STATUS_NUMBER.retry, STATUS_NUMBER.paused];

export async function list(read: ReadScript, query: TaskQuery): Promise<readonly Task[]> {
  const { workerId, scheduleId, statuses, limit, order } = query;
  const lists = scheduleId !== null ? `c:${scheduleId}:` : workerId !== null ? `w:${workerId}:` : 's:';
  const onlyWorker = scheduleId !== null && workerId !== null ? workerId : '';
  const numbers = new Set((statuses ?? TASK_STATUSES).map(status => STATUS_NUMBER[status]));
  const [first, to] = idBounds(query);
  const tasks: Task[] = [];
  for (let from = first; ; ) {
    const left = limit - tasks.length;
    const [behind, ...found] = await read(SCRIPTS.list, [
      ...[lists, onlyWorker, from, to, order, left, ''],
      ...numbers,
    ]);
    tasks.push(...tasksOf(found));
    if (behind === null) return tasks;
    from = `(${String(behind)}`;
  }
}

export async function openOfSchedule(
  read: ReadScript,
  scheduleId: string,
  limit: number,
): Promise<readonly string[]> {
  const args = [`c:${scheduleId}:`, '', '-', '+', 'asc', limit, '1', ...OPEN];
  const [, ...ids] = await read(SCRIPTS.list, args);
  return ids.map(String);
}

export async function history(
  read: ReadScript,
  id: string,
  { after, limit, order }: HistoryQuery,
): Promise<readonly HistoryEntry[] | null> {
  const [gone, ...found] = await read(SCRIPTS.history, [id, after ?? '', limit, order]);
  if (gone === undefined) return null;
  const dropped = gone as number;
  const entries: HistoryEntry[] = [];
  for (let i = 0; i < found.length; i += 2) {
    const entry = entryOf(found[i] as number, found[i + 1] as Buffer);
    const gap = gapOf(found[i + 1] as Buffer, dropped);
    entries.push(dropped > 0 && entry.seq === gap.seq ? gap : entry);
  }
  return entries;
}

/** Reads one piece of the list after the other. Each piece is a script of its own. */
export async function search(read: ReadScript, wanted: TaskSearch): Promise<FoundTasks> {
  const scanning = scan(wanted, narrowsList(wanted));
  for (let step = scanning.next(); ; ) {
    if (step.done) return step.value;
    step = scanning.next(await pieceOf(read, wanted, step.value));
  }
}

function pieceOf(read: ReadScript, wanted: TaskSearch, { after, limit }: PieceRequest): Promise<Piece> {
  const piece = { ...wanted, after, limit };
  if (piece.by === 'run_at') return dueTasks(read, piece);
  if (piece.key !== null) return tasksOfKey(read, piece, piece.key);
  return listed(read, piece);
}

async function listed(read: ReadScript, wanted: TaskSearch): Promise<Piece> {
  // In the list of a schedule, tasks of one worker can be rare, so that finding enough of them could take very long.
  const tasks = await list(read, wanted.scheduleId === null ? wanted : { ...wanted, workerId: null });
  const isLast = tasks.length < wanted.limit;
  return { tasks, behind: isLast ? null : placeOf(tasks[tasks.length - 1], 'created_at') };
}

async function tasksOfKey(read: ReadScript, wanted: TaskSearch, key: string): Promise<Piece> {
  const [from, to] = idBounds(wanted).map(bound => memberBound(key, bound));
  const tasks = tasksOf(await read(SCRIPTS.listOfKey, [key, from, to, wanted.order, wanted.limit]));
  const isLast = tasks.length < wanted.limit;
  return { tasks, behind: isLast ? null : placeOf(tasks[tasks.length - 1], 'created_at') };
}

/** A bound of ids as a bound of members `key id`. Keys contain no character before the space; `!` follows the space. */
function memberBound(key: string, bound: string): string {
  if (bound === '-') return `[${key} `;
  if (bound === '+') return `(${key}!`;
  return `${bound[0]}${key} ${bound.slice(1)}`;
}

async function dueTasks(read: ReadScript, wanted: TaskSearch): Promise<Piece> {
  const { createdFrom, createdBefore, after, order, limit, workerId } = wanted;
  let low: readonly [number | '', string] = [createdFrom ?? '', ''];
  let high: readonly [number | '', string] = [createdBefore ?? '', ''];
  if (after !== null) {
    const { dueAt, id } = readDuePlace(after);
    if (order === 'asc' && (createdFrom === null || dueAt >= createdFrom)) low = [dueAt, id];
    if (order === 'desc' && (createdBefore === null || dueAt < createdBefore)) high = [dueAt, id];
  }
  const args = [workerId ?? '', ...low, ...high, order, limit];
  const [due, id, ...found] = await read(SCRIPTS.listDue, args);
  const behind = due === null ? null : duePlace(Number(String(due)), String(id));
  return { tasks: tasksOf(found), behind };
}
