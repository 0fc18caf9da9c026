/** All statuses of tasks, in the order in which pages show them. */
export const TASK_STATUSES = [
  'scheduled',
  'running',
  'retry',
  'paused',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Statuses of tasks that have not ended. */
export const OPEN_STATUSES: readonly TaskStatus[] = ['scheduled', 'running', 'retry', 'paused'];
export const ENDED_STATUSES: readonly TaskStatus[] = ['succeeded', 'failed', 'canceled', 'expired'];
