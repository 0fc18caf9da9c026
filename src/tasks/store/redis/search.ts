import type { Task } from '../../model/task.ts';
import type { FoundTasks, TaskQuery, TaskSearch } from '../requests.ts';
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
import { SCRIPTS, type Script } from './lua/scripts.ts';
import { idBounds, type Reply, tasksOf } from './records/replies.ts';

interface SearchParts {
  readonly list: (query: TaskQuery) => Promise<readonly Task[]>;
  /** Runs a script for the tenant. */
  readonly read: (script: Script, args: readonly Argument[]) => Promise<Reply>;
}

/** Reads the pieces of a search one after the other, each in a step of its own. */
export async function search(parts: SearchParts, wanted: TaskSearch): Promise<FoundTasks> {
  const scanning = scan(wanted, narrowsList(wanted));
  for (let step = scanning.next(); ; ) {
    if (step.done) return step.value;
    step = scanning.next(await pieceOf(parts, wanted, step.value));
  }
}

function pieceOf(parts: SearchParts, wanted: TaskSearch, { after, limit }: PieceRequest): Promise<Piece> {
  const piece = { ...wanted, after, limit };
  if (piece.by === 'run_at') return dueTasks(parts, piece);
  if (piece.key !== null) return tasksOfKey(parts, piece, piece.key);
  return listed(parts, piece);
}

async function listed({ list }: SearchParts, wanted: TaskSearch): Promise<Piece> {
  // The list of a schedule would be read without bound for those of a worker.
  const tasks = await list(wanted.scheduleId === null ? wanted : { ...wanted, workerId: null });
  const isLast = tasks.length < wanted.limit;
  return { tasks, behind: isLast ? null : placeOf(tasks[tasks.length - 1], 'created_at') };
}

async function tasksOfKey({ read }: SearchParts, wanted: TaskSearch, key: string): Promise<Piece> {
  const [from, to] = idBounds(wanted).map(bound => memberBound(key, bound));
  const tasks = tasksOf(await read(SCRIPTS.listOfKey, [key, from, to, wanted.order, wanted.limit]));
  const isLast = tasks.length < wanted.limit;
  return { tasks, behind: isLast ? null : placeOf(tasks[tasks.length - 1], 'created_at') };
}

/** A bound of ids as one of `key id`. No character of a key is before the space; `!` is the one behind it. */
function memberBound(key: string, bound: string): string {
  if (bound === '-') return `[${key} `;
  if (bound === '+') return `(${key}!`;
  return `${bound[0]}${key} ${bound.slice(1)}`;
}

async function dueTasks({ read }: SearchParts, wanted: TaskSearch): Promise<Piece> {
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
