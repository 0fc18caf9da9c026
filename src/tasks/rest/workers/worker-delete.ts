import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { TaskStatus } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { Problem } from '../checks/problem.ts';
import { deleteNamed } from '../fields/named-changes.ts';
import { readNamed } from '../fields/named-documents.ts';
import { workerChanged } from '../fields/stored-worker.ts';
import { refuseInUse } from '../fields/worker-on-finish.ts';
import type { RestParts } from '../http/parts.ts';
import { readFlag } from '../http/read-request.ts';
import { expectedVersion, expectedVersions } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { actOn } from '../tasks/task-actions.ts';

const PAGE = 500;
/** Maximum number of tasks that one request cancels. */
const MAX_CANCELED = 10_000;
const AT_ONCE = 16;
/** How often a request checks whether running tasks have stopped, and at which interval. */
const LOOKS = 20;
const LOOK_EVERY_MS = 100;

const OPEN: readonly TaskStatus[] = ['scheduled', 'retry', 'paused', 'running'];

/** `DELETE /v1/workers/:id` (specification 3.5). */
export function deleteWorkerRoute(parts: RestParts): Route {
  return {
    method: 'DELETE',
    path: '/v1/workers/:id',
    operation: 'deleteWorker',
    summary: 'Delete a worker and its secrets',
    access: { role: 'admin', scope: 'workers:write' },
    query: { cancel_tasks: '`true`: cancel the open tasks of the worker.' },
    answers: { 204: { description: 'Deleted. Finished tasks of the worker are kept.' } },
    problems: ['worker_has_tasks', 'worker_in_use', 'version_mismatch'],
    handle: call => deleteWorker(parts, call),
  };
}

async function deleteWorker(parts: RestParts, call: Call): Promise<RestAnswer> {
  const cancels = readFlag(call, 'cancel_tasks');
  const meant = expectedVersions(call);
  const worker = await readNamed(parts.store, call, 'worker');
  const { id } = worker;
  const expect = expectedVersion(meant, worker.version) ?? 'any';
  await refuseInUse(parts.store, call.tenant, id);
  if (await removed(parts, call, worker, expect)) return { status: 204 };
  if (!cancels) throw await hasTasks(parts, call.tenant, id);
  await cancelTasks(parts, call, id);
  for (let look = 0; look < LOOKS; look++) {
    if (await removed(parts, call, worker, expect)) return { status: 204 };
    const { running } = await parts.store.counts(call.tenant, id);
    if (running === 0 || call.gone.aborted) break;
    await new Promise<void>(resolve => parts.clock.after(LOOK_EVERY_MS, resolve));
  }
  throw await hasTasks(parts, call.tenant, id);
}

/**
 * Deletes the worker unless it has open tasks.
 *
 * @throws Problem `not_found` or `version_mismatch`
 */
async function removed(
  parts: RestParts,
  call: Call,
  worker: StoredDocument<'worker'>,
  expect: number | 'any',
): Promise<boolean> {
  const { id } = worker;
  if (!(await deleteNamed(parts, call, worker, { expect, noOpenTasksOf: id, children: 'secret' })))
    return false;
  workerChanged(parts, call.tenant, id);
  parts.logger.info('Worker deleted', { tenant: call.tenant, worker: id, by: call.caller.actor.id });
  return true;
}

async function cancelTasks(parts: RestParts, call: Call, workerId: string): Promise<void> {
  let after: string | null = null;
  for (let canceled = 0; canceled < MAX_CANCELED && !call.gone.aborted; ) {
    const tasks = await parts.store.list(call.tenant, {
      workerId,
      statuses: OPEN,
      scheduleId: null,
      createdFrom: null,
      createdBefore: null,
      after,
      limit: PAGE,
      order: 'asc',
    });
    await forEachLimited(
      tasks,
      AT_ONCE,
      async ({ id }) => {
        await actOn(parts, call, id, 'cancel');
      },
      'stop',
    );
    if (tasks.length < PAGE) return;
    canceled += tasks.length;
    after = tasks[tasks.length - 1].id;
  }
}

async function hasTasks({ store }: RestParts, tenant: string, id: string): Promise<Problem> {
  const counts = await store.counts(tenant, id);
  const open = OPEN.reduce((sum, status) => sum + counts[status], 0);
  const detail = `The worker has ${open} open tasks, of which ${counts.running} are running. Use cancel_tasks=true, or wait until they finish. Running tasks may take a while to stop.`;
  return new Problem('worker_has_tasks', detail, { members: { open, running: counts.running } });
}
