import type { Callback } from '../../model/documents.ts';
import { type IdMaker, idTimeMs } from '../../model/ids.ts';
import type { TaskError } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { NewTask } from '../../store/requests.ts';

/**
 * The task that tells a worker of the end of another task. It makes no callback itself, so callbacks have no callbacks and
 * workers that name each other do not go on for ever.
 *
 * @param worker the one that is told
 */
export function callbackTask(ids: IdMaker, callback: Callback, worker: StoredDocument<'worker'>): NewTask {
  const defaults = worker.body;
  const id = ids.next('task');
  return {
    task: {
      id,
      workerId: worker.id,
      worker: defaults.name,
      type: `task.${callback.status}`,
      priority: defaults.priority,
      runAt: { afterMs: 0 },
      expiresAt: null,
      timeoutMs: defaults.timeoutMs,
      retry: defaults.retry,
      key: null,
      keyTtlMs: 0,
      tags: [],
      metadata: {},
      group: null,
      scheduleId: null,
      scheduledFor: null,
      heldBy: null,
      onFinish: null,
      createdBy: { type: 'task', id: callback.taskId },
      createdAt: idTimeMs(id),
    },
    body: { payload: payloadOf(callback), headers: {} },
    onConflict: 'return',
    wake: defaults.mode === 'push',
  };
}

/** What the worker is sent; described in `docs/tasks/receivers.md`. The result is JSON already, and stays as it is. */
function payloadOf(callback: Callback): string {
  const { taskId, status, lastError, result } = callback;
  const path = `/api/v1/tasks/${taskId}`;
  const told = {
    id: taskId,
    worker: callback.worker,
    worker_id: callback.workerId,
    type: callback.type,
    key: callback.key,
    tags: callback.tags,
    status,
    attempts: callback.attempt,
    // One that has succeeded keeps the error of the attempt before.
    error: status === 'succeeded' || lastError === null ? null : errorOf(lastError),
    finished_at: formatTime(callback.finishedAt),
    links: { task: path, history: `${path}/history` },
    result_omitted: callback.resultOmitted,
  };
  return `${JSON.stringify(told).slice(0, -1)},"result":${result}}`;
}

function errorOf({ code, message, httpStatus, at }: TaskError): object {
  return { code, message, ...(httpStatus !== undefined && { http_status: httpStatus }), at: formatTime(at) };
}
