import type { Task } from '../model/task.ts';
import type { FoundTasks, TaskSearch } from './requests.ts';

/** Maximum number of tasks that one search reads. */
const MAX_SCANNED = 1_000;
/** Number of tasks that are read at a time if the filter may reject some of them. */
const PIECE = 250;

/** The next tasks of a list in the order of a search, from which the store reads. */
export interface Piece {
  readonly tasks: readonly Task[];
  /** The place of the last task that was read; null at the end of the list. */
  readonly behind: string | null;
}

/** Which piece of a list a search needs next. */
export interface PieceRequest {
  readonly after: string | null;
  readonly limit: number;
}

/**
 * Searches a list piece by piece: yields the next piece that it needs, and receives it. It is a generator because one
 * store reads synchronously and the other asynchronously.
 *
 * @param narrows false if all tasks of the list match the search
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

/** Whether the list of a search contains tasks that do not match the search. */
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

/** Times are not checked here, because they are bounds of the list. */
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
