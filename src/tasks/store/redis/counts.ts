import { TASK_STATUSES } from '../../model/task.ts';
import type { DueTasks, StatusCounts } from '../requests.ts';
import type { ReadScript } from './lists.ts';
import { SCRIPTS } from './lua/scripts.ts';

export async function counts(read: ReadScript, workerId: string | null): Promise<StatusCounts> {
  const reply = await read(SCRIPTS.counts, [workerId === null ? 's:' : `w:${workerId}:`]);
  const counted = TASK_STATUSES.map((status, i) => [status, reply[i] as number] as const);
  return Object.fromEntries(counted) as unknown as StatusCounts;
}

export async function dueOf(read: ReadScript): Promise<DueTasks> {
  const [count, oldestAt] = await read(SCRIPTS.dueOf, []);
  return { count: count as number, oldestAt: oldestAt as number | null };
}
