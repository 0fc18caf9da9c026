import type { Task } from '../../../../src/tasks/model/task.ts';
import type { FoundTasks, TaskSearch } from '../../../../src/tasks/store/requests.ts';
import { isWaiting } from './changing.ts';
import { allRecords, list } from './reading.ts';
import { compareText, type TenantState } from './state.ts';

/** A search looks at this many tasks. */
const MAX_LOOKED_AT = 1_000;

export function search(state: TenantState, now: number, wanted: TaskSearch): FoundTasks {
  const all = wanted.by === 'run_at' ? dueTasks(state, now, wanted) : ofKey(state, wanted);
  const found = all.slice(0, MAX_LOOKED_AT).filter(task => passes(task, wanted));
  const tasks = found.slice(0, wanted.limit);
  const isCut = tasks.length < wanted.limit && all.length > MAX_LOOKED_AT;
  return { tasks, behind: isCut ? placeOf(all[MAX_LOOKED_AT - 1], wanted) : null };
}

function ofKey(state: TenantState, wanted: TaskSearch): Task[] {
  if (wanted.key === null) return list(state, { ...wanted, limit: Infinity });
  const any = { ...wanted, workerId: null, statuses: null, scheduleId: null, limit: Infinity };
  return list(state, any).filter(({ key }) => key === wanted.key);
}

function dueTasks(state: TenantState, now: number, wanted: TaskSearch): Task[] {
  const { workerId, createdFrom, createdBefore, after, order } = wanted;
  const tasks = allRecords(state)
    .map(({ task }) => task)
    .filter(task => isWaiting(task) && task.workerId === workerId && task.dueAt !== null)
    .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
    .filter(({ dueAt }) => createdFrom === null || dueAt! >= createdFrom)
    .filter(({ dueAt }) => createdBefore === null || dueAt! < createdBefore)
    .sort((a, b) => a.dueAt! - b.dueAt! || compareText(a.id, b.id));
  if (order === 'desc') tasks.reverse();
  if (after === null) return tasks;
  const [due, id] = [Number(after.split(' ')[0]), after.split(' ')[1]];
  const sign = order === 'asc' ? 1 : -1;
  return tasks.filter(task => sign * (task.dueAt! - due || compareText(task.id, id)) > 0);
}

function placeOf({ id, dueAt }: Task, { by }: TaskSearch): string {
  return by === 'run_at' ? `${dueAt} ${id}` : id;
}

function passes(
  task: Task,
  { statuses, scheduleId, workerId, key, type, tag, group, error }: TaskSearch,
): boolean {
  const texts = [task.lastError?.code, task.lastError?.message].map(text => text?.toLowerCase() ?? '');
  return (
    (statuses === null || statuses.includes(task.status)) &&
    (scheduleId === null || task.scheduleId === scheduleId) &&
    (workerId === null || task.workerId === workerId) &&
    (key === null || task.key === key) &&
    (type === null || task.type === type) &&
    (tag === null || task.tags.some(other => other === tag)) &&
    (group === null || task.group === group) &&
    (error === null || (task.lastError !== null && texts.some(text => text.includes(error.toLowerCase()))))
  );
}
