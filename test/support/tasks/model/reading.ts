import {
  HISTORY_FIRST_KEPT,
  HISTORY_LAST_KEPT,
  type HistoryEntry,
  isFinal,
  TASK_STATUSES,
  type Task,
  type TaskStatus,
} from '../../../../src/tasks/model/task.ts';
import type {
  DueTasks,
  HistoryQuery,
  Overdue,
  StatusCounts,
  TaskQuery,
} from '../../../../src/tasks/store/requests.ts';
import { isWaiting } from './changing.ts';
import { compareText, type TaskRecord, type TenantState } from './state.ts';
import { STORE_ACTOR } from './writing.ts';

/** All tasks, by id. */
export function allRecords(state: TenantState): TaskRecord[] {
  return [...state.tasks.values()].sort((a, b) => compareText(a.task.id, b.task.id));
}

export function list(state: TenantState, query: TaskQuery): Task[] {
  const { workerId, statuses, scheduleId, createdFrom, createdBefore, after, limit, order } = query;
  const tasks = allRecords(state).map(({ task }) => task);
  if (order === 'desc') tasks.reverse();
  return tasks
    .filter(
      task =>
        (workerId === null || task.workerId === workerId) &&
        (statuses === null || statuses.includes(task.status)) &&
        (scheduleId === null || task.scheduleId === scheduleId) &&
        (createdFrom === null || task.createdAt >= createdFrom) &&
        (createdBefore === null || task.createdAt < createdBefore) &&
        (after === null || (order === 'asc' ? task.id > after : task.id < after)),
    )
    .slice(0, limit);
}

export function openOfSchedule(state: TenantState, scheduleId: string, limit: number): string[] {
  return allRecords(state)
    .filter(({ task }) => task.scheduleId === scheduleId && !isFinal(task.status))
    .map(({ task }) => task.id)
    .slice(0, limit);
}

export function counts(state: TenantState, workerId: string | null): StatusCounts {
  const found = Object.fromEntries(TASK_STATUSES.map(status => [status, 0])) as Record<TaskStatus, number>;
  for (const { task } of state.tasks.values()) {
    if (workerId === null || task.workerId === workerId) found[task.status]++;
  }
  return found;
}

/** Tasks that wait although their time has come. */
export function dueOf(state: TenantState, now: number): DueTasks {
  const times = allRecords(state).flatMap(({ task }) =>
    isWaiting(task) && task.dueAt !== null && task.dueAt <= now ? [task.dueAt] : [],
  );
  return { count: times.length, oldestAt: times.length === 0 ? null : Math.min(...times) };
}

export function readHistory(record: TaskRecord, { after, limit, order }: HistoryQuery): HistoryEntry[] {
  const entries = withGap(record.history);
  if (order === 'desc') entries.reverse();
  return entries
    .filter(({ seq }) => after === null || (order === 'asc' ? seq > after : seq < after))
    .slice(0, limit);
}

/** The first and the last entries, and one that stands for those between them. */
export function withGap(history: readonly HistoryEntry[]): HistoryEntry[] {
  const dropped = history.length - HISTORY_FIRST_KEPT - HISTORY_LAST_KEPT;
  if (dropped <= 0) return [...history];
  const first = history.slice(0, HISTORY_FIRST_KEPT);
  const { at, from, to, attempt } = first[first.length - 1];
  const seq = HISTORY_FIRST_KEPT + 1;
  const gap: HistoryEntry = { seq, at, event: 'gap', from, to, attempt, actor: STORE_ACTOR, dropped };
  return [...first, gap, ...history.slice(-HISTORY_LAST_KEPT)];
}

/** What has run out of time in one tenant, at most `max` in all. */
export function overdue(state: TenantState, now: number, max: number): Omit<Overdue, 'tenant'> {
  const records = allRecords(state);
  const leases = records
    .filter(({ lease }) => lease !== null && lease.until <= now)
    .map(({ lease, task }) => ({ leaseId: lease!.id, task }))
    .slice(0, max);
  const expired = records
    .map(({ task }) => task)
    .filter(task => isWaiting(task) && task.expiresAt !== null && task.expiresAt <= now)
    .slice(0, max - leases.length);
  return { leases, expired };
}
