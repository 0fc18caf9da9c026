import type { TenantLimits } from '../../model/documents.ts';
import type { IdMaker } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { CreateAnswer, Idempotency } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { scheduledTask } from './schedule-task.ts';

interface TriggerRequest {
  readonly tenant: string;
  readonly schedule: StoredDocument<'schedule'>;
  readonly worker: StoredDocument<'worker'>;
  readonly limits: Pick<TenantLimits, 'openTasks'>;
  readonly actor: Actor;
  /** By the store's clock. */
  readonly nowMs: number;
  readonly idempotency: Idempotency | null;
}

/**
 * Makes a task of a schedule now, because somebody asks for it: whatever `overlap` says, and also while it is paused.
 * The schedule itself, its times and its counters stay as they are.
 */
export function triggerSchedule(
  { store, ids }: { readonly store: Pick<TaskStore, 'create'>; readonly ids: IdMaker },
  { tenant, schedule, worker, limits, actor, nowMs, idempotency }: TriggerRequest,
): Promise<CreateAnswer> {
  const run = { scheduledFor: nowMs, runAt: nowMs, key: null, heldBy: null, createdBy: actor };
  return store.create(tenant, {
    tasks: [scheduledTask(ids, schedule, worker, run)],
    atomic: false,
    maxOpen: limits.openTasks,
    actor,
    ...(idempotency === null ? {} : { idempotency }),
  });
}
