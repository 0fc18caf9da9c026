import type { Task } from '../model/task.ts';
import type { FoundTasks, TaskSearch } from './requests.ts';

/** Maximum number of tasks that one search looks at. */
const MAX_SCANNED = 1_000;
/** Tasks are read this many at a time: the filter rarely passes just as many as are wanted. */
const PIECE = 250;

/** The next tasks of a list in the order of a search, from which the store reads. */
export interface Piece {
  readonly tasks: readonly Task[];
  /** The place of the last one that was looked at; null at the end of the list. */
  readonly behind: string | null;
}

/** Which piece of a list a search needs next. */
export interface PieceRequest {
  readonly after: string | null;
  readonly limit: number;
}

/**
 * Looks through a list piece by piece: yields what it needs next, and is given that. A generator, because one store
 * reads at once, and the other over a connection.
 *
 * @param narrows false if the list that is read holds nothing but what is searched for
 */
export function* scan(search: TaskSearch, narrows: boolean): Generator<PieceRequest, FoundTasks, Piece> {
  const tasks: Task[] = [];
  let { after } = search;
  for (let left = Math.max(MAX_SCANNED, search.limit); left > 0; ) {
    const limit = Math.min(left, narrows ? PIECE : search.limit);
    const piece = yield { after, limit };
    for (const task of piece.tasks) {
      if (passes(task, search)) tasks.push(task);
      if (tasks.length === search.limit) return { tasks, behind: null };
    }
    if (piece.behind === null) return { tasks, behind: null };
    after = piece.behind;
    left -= limit;
  }
  return { tasks, behind: after };
}

/** Whether the list `by` itself holds more than what is searched for. */
export function narrowsList({
  by,
  key,
  workerId,
  statuses,
  scheduleId,
  type,
  tag,
  group,
  error,
}: TaskSearch): boolean {
  if (type !== null || tag !== null || group !== null || error !== null) return true;
  if (by === 'run_at') return statuses !== null || scheduleId !== null || key !== null;
  if (key !== null) return workerId !== null || statuses !== null || scheduleId !== null;
  return workerId !== null && scheduleId !== null;
}

/** Times are bounds of the list, so they are not looked at here. */
function passes(task: Task, search: TaskSearch): boolean {
  const { workerId, statuses, scheduleId, key, type, tag, group, error } = search;
  return (
    (workerId === null || task.workerId === workerId) &&
    (statuses === null || statuses.includes(task.status)) &&
    (scheduleId === null || task.scheduleId === scheduleId) &&
    (key === null || task.key === key) &&
    (type === null || task.type === type) &&
    (tag === null || task.tags.includes(tag)) &&
    (group === null || task.group === group) &&
    (error === null || failedWith(task, error.toLowerCase()))
  );
}

/** @param part in lower case */
function failedWith({ lastError }: Task, part: string): boolean {
  if (lastError === null) return false;
  return lastError.code.toLowerCase().includes(part) || lastError.message.toLowerCase().includes(part);
}

/** The place of a task in the order of a search. */
export function placeOf({ id, dueAt }: Task, by: TaskSearch['by']): string {
  return by === 'run_at' ? duePlace(dueAt as number, id) : id;
}

export function duePlace(dueAt: number, id: string): string {
  return `${dueAt} ${id}`;
}

/** Reads a place of the order `run_at`. */
export function readDuePlace(place: string): { readonly dueAt: number; readonly id: string } {
  const space = place.indexOf(' ');
  return { dueAt: Number(place.slice(0, space)), id: place.slice(space + 1) };
}
