import type { TraceContext } from '../../../base/trace-context.ts';
import type { TenantLimits } from '../../model/documents.ts';
import { type IdMaker, idTimeMs } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import { newContent } from '../../model/task-content.ts';
import { keptHeaders } from '../../model/task-headers.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { CreateAnswer, Idempotency, NewTask } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** One run of a schedule. */
interface ScheduleRun {
  readonly scheduledFor: number;
  /** By the store's clock. Not the nominal time: a run that is made up for would precede everything else that waits. */
  readonly runAt: number;
  /** Null for a triggered run: there may be any number of those. */
  readonly key: string | null;
  readonly heldBy: string | null;
  readonly createdBy: Actor;
  /** The trace context of the call that triggers the run; null for a firing, which begins a trace. */
  readonly trace: TraceContext | null;
}

/** The task of a run, from the template of the schedule; what that leaves open is the worker's. */
export function scheduledTask(
  ids: IdMaker,
  schedule: StoredDocument<'schedule'>,
  worker: StoredDocument<'worker'>,
  run: ScheduleRun,
): NewTask {
  const { task: template } = schedule.body;
  const defaults = worker.body;
  const id = ids.next('task');
  const createdAt = idTimeMs(id);
  return {
    task: {
      id,
      workerId: worker.id,
      worker: defaults.name,
      ...newContent(template, defaults),
      runAt: run.runAt,
      expiresAt: template.expiresInMs == null ? null : run.runAt + template.expiresInMs,
      key: run.key,
      keyTtlMs: 0,
      group: template.group ?? null,
      scheduleId: schedule.id,
      scheduledFor: run.scheduledFor,
      heldBy: run.heldBy,
      onFinish: defaults.onFinish ?? null,
      createdBy: run.createdBy,
      createdAt,
    },
    body: { payload: template.payload, headers: keptHeaders(template.headers, { trace: run.trace }) },
    onConflict: 'return',
    wake: defaults.mode === 'push',
  };
}

interface TriggerRequest {
  readonly tenant: string;
  readonly schedule: StoredDocument<'schedule'>;
  readonly worker: StoredDocument<'worker'>;
  readonly limits: Pick<TenantLimits, 'openTasks'>;
  readonly actor: Actor;
  /** By the store's clock. */
  readonly nowMs: number;
  readonly idempotency: Idempotency | null;
  readonly trace: TraceContext | null;
}

/**
 * Creates a task of a schedule on request, regardless of `overlap` and also while the schedule is paused.
 * The schedule itself, its times and its counters stay as they are.
 */
export function triggerSchedule(
  { store, ids }: { readonly store: Pick<TaskStore, 'create'>; readonly ids: IdMaker },
  { tenant, schedule, worker, limits, actor, nowMs, idempotency, trace }: TriggerRequest,
): Promise<CreateAnswer> {
  const run = { scheduledFor: nowMs, runAt: nowMs, key: null, heldBy: null, createdBy: actor, trace };
  return store.create(tenant, {
    tasks: [scheduledTask(ids, schedule, worker, run)],
    atomic: false,
    maxOpen: limits.openTasks,
    actor,
    ...(idempotency === null ? {} : { idempotency }),
  });
}
