import { type IdMaker, idTimeMs } from '../../model/ids.ts';
import { mergeRetry } from '../../model/retry-policy.ts';
import type { Actor } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { NewTask } from '../../store/requests.ts';

/** One run of a schedule. */
interface ScheduleRun {
  readonly scheduledFor: number;
  /** By the store's clock. Not the nominal time: a run that is made up for would precede everything else that waits. */
  readonly runAt: number;
  /** Null for one that somebody triggers: there may be any number of those. */
  readonly key: string | null;
  readonly heldBy: string | null;
  readonly createdBy: Actor;
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
      type: template.type,
      priority: template.priority ?? defaults.priority,
      runAt: run.runAt,
      expiresAt: template.expiresInMs == null ? null : run.runAt + template.expiresInMs,
      timeoutMs: template.timeoutMs ?? defaults.timeoutMs,
      retry: mergeRetry(defaults.retry, template.retry),
      key: run.key,
      keyTtlMs: 0,
      tags: template.tags,
      metadata: template.metadata,
      group: template.group ?? null,
      scheduleId: schedule.id,
      scheduledFor: run.scheduledFor,
      heldBy: run.heldBy,
      onFinish: defaults.onFinish ?? null,
      createdBy: run.createdBy,
      createdAt,
    },
    body: { payload: template.payload, headers: template.headers },
    onConflict: 'return',
    wake: defaults.mode === 'push',
  };
}
