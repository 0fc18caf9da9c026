import { MINUTE_MS } from '../../../base/clock.ts';
import type { Schema } from '../../../base/schema/schema.ts';
import { FINAL_STATUSES } from '../../model/task.ts';
import { UsageSum, usageStart } from '../../model/usage.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** Number of minutes in the small curves of lists. */
const SPARK_MINUTES = 20;

/** A small curve in an answer. */
export const ENDED_SPARK: Schema = {
  type: 'array',
  items: { type: 'number' },
  description: `Ended tasks in each of the last ${SPARK_MINUTES} minutes, the oldest first; the last one has not ended.`,
};

/**
 * The usage of the last minutes, the oldest first; the last one has not ended.
 *
 * @param workerId null for all workers of the tenant
 */
export async function lastMinutes(
  store: Pick<TaskStore, 'usage'>,
  { tenant, workerId }: { readonly tenant: string; readonly workerId: string | null },
  nowMs: number,
): Promise<readonly UsageSum[]> {
  const from = usageStart('minute', nowMs) - (SPARK_MINUTES - 1) * MINUTE_MS;
  const query = { span: 'minute', workerId, from, intervals: SPARK_MINUTES } as const;
  const sums = Array.from({ length: SPARK_MINUTES }, () => new UsageSum());
  for (const { at, figures } of await store.usage(tenant, query)) {
    sums[Math.round((at - from) / MINUTE_MS)]?.addAll(figures);
  }
  return sums;
}

/** Number of tasks that ended in a minute, in any status. */
export function endedIn(minute: UsageSum): number {
  return FINAL_STATUSES.reduce((sum, status) => sum + minute.count(status), 0);
}
