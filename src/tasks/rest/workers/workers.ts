import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Worker } from '../../model/documents.ts';
import { TASK_STATUSES } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { acceptingAnswer, writableFields } from '../checks/field-reader.ts';
import { invalidParameter, Problem } from '../checks/problem.ts';
import { changeNamed, createNamed } from '../fields/named-changes.ts';
import { readNamed } from '../fields/named-documents.ts';
import { readWorkerFields } from '../fields/read-worker.ts';
import { readHealth, workerChanged } from '../fields/stored-worker.ts';
import { NEW_WORKER, WORKER_ANSWER, WORKER_CHANGES, workerView } from '../fields/worker-fields.ts';
import { withOnFinish } from '../fields/worker-on-finish.ts';
import { documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag } from '../http/request-headers.ts';
import { type Call, changeRoutes, type RestAnswer, type Route } from '../http/route.ts';
import { deleteWorkerRoute } from './worker-delete.ts';
import { testWorkerRoute } from './worker-test.ts';

/** Maximum number of workers of a page whose tasks are counted at the same time. */
const COUNTS_AT_ONCE = 16;

/** The field that {@link showWorker} adds to a worker. */
const MOVING: ReadonlySet<string> = new Set(['health']);

const READS = { role: 'viewer', scope: 'workers:read' } as const;
const WRITES = { role: 'admin', scope: 'workers:write' } as const;

const FIELD_PROBLEMS = ['name_taken', 'invalid_url', 'forbidden_address'] as const;

const WORKER_BODY = acceptingAnswer(WORKER_CHANGES, WORKER_ANSWER);

/** `/v1/workers` (specification 3.5). */
export function workerRoutes(parts: RestParts): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/workers',
      operation: 'createWorker',
      summary: 'Create a worker',
      access: WRITES,
      body: NEW_WORKER,
      answers: { 201: { description: 'The new worker', schema: WORKER_ANSWER } },
      problems: [...FIELD_PROBLEMS, 'quota_exceeded'],
      handle: call => createWorker(parts, call),
    },
    {
      method: 'GET',
      path: '/v1/workers',
      operation: 'listWorkers',
      summary: 'List workers, newest first',
      access: READS,
      query: {
        ...PAGE_QUERY,
        include:
          '`health`: include the number of tasks of each worker by status, and a curve of those that ended.',
      },
      answers: { 200: { description: 'A page of workers', schema: pageSchema('WorkerPage', WORKER_ANSWER) } },
      handle: call => listWorkers(parts, call),
    },
    {
      method: 'GET',
      path: '/v1/workers/:id',
      operation: 'readWorker',
      summary: 'Read a worker, by id or name',
      access: READS,
      answers: { 200: { description: 'The worker', schema: WORKER_ANSWER } },
      handle: call => showWorker(parts, call),
    },
    ...changeRoutes('Worker', {
      path: '/v1/workers/:id',
      summary: 'Change a worker; fields that are left out stay unchanged, null restores the default',
      access: WRITES,
      body: WORKER_BODY,
      answers: { 200: { description: 'The worker after the change', schema: WORKER_ANSWER } },
      problems: [...FIELD_PROBLEMS, 'worker_has_tasks', 'version_mismatch'],
      handle: call => updateWorker(parts, call),
    }),
    deleteWorkerRoute(parts),
    testWorkerRoute(parts),
  ];
}

/** @throws Problem `invalid_parameter` */
async function listWorkers(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { include = '' } = call.query;
  if (include === '') {
    return documentPage(parts, call, {
      kind: 'worker',
      list: 'listWorkers',
      view: workerView,
    });
  }
  if (include !== 'health') throw invalidParameter('include', 'include must be health, or left out');
  const health = new Map<string, Record<string, unknown>>();
  return documentPage(parts, call, {
    kind: 'worker',
    list: 'listWorkers',
    prepare: workers =>
      forEachLimited(workers, COUNTS_AT_ONCE, async ({ id }) => {
        health.set(id, await readHealth(parts.store, { tenant: call.tenant, workerId: id }, call.nowMs));
      }),
    view: worker => ({ ...workerView(worker), health: health.get(worker.id) }),
  });
}

async function createWorker(parts: RestParts, call: Call): Promise<RestAnswer> {
  const read = readWorkerFields(call.body, null, parts.config, call.nowMs);
  const worker = await withOnFinish(parts, call.tenant, call.body, { id: null, worker: read });
  const id = parts.ids.next('worker');
  const json = workerView({ id, version: 1, body: worker });
  const { answer, isReplay } = await createNamed(parts, call, { kind: 'worker', id, body: worker, json });
  if (!isReplay) workerChanged(parts, call.tenant, id);
  return answer;
}

async function showWorker({ store }: RestParts, call: Call): Promise<RestAnswer> {
  const worker = await readNamed(store, call, 'worker');
  const health = await readHealth(store, { tenant: call.tenant, workerId: worker.id }, call.nowMs);
  const json = { ...workerView(worker), health };
  return { status: 200, headers: { ETag: entityTag(worker.version) }, json };
}

async function updateWorker(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { tenant, nowMs } = call;
  const { before, after } = await changeNamed(parts, call, 'worker', async document => {
    const { id, body } = document;
    const fields = writableFields(call.body, WORKER_CHANGES, workerView(document), MOVING);
    const read = readWorkerFields(fields, body, parts.config, nowMs);
    const worker = await withOnFinish(parts, tenant, fields, { id, worker: read });
    await checkTasksAllow(parts, tenant, document, worker);
    return worker;
  });
  const { id, version } = after;
  if (resumesPushing(before.body, after.body)) await parts.store.setWakeup(tenant, id, nowMs);
  workerChanged(parts, tenant, id);
  return { status: 200, headers: { ETag: entityTag(version) }, json: workerView(after) };
}

/**
 * Checks that the tasks of the worker allow a change of its name or mode.
 *
 * @throws Problem `worker_has_tasks`
 */
async function checkTasksAllow(
  { store }: RestParts,
  tenant: string,
  { id, body: before }: StoredDocument<'worker'>,
  after: Worker,
): Promise<void> {
  const renamed = before.name !== after.name;
  const turned = before.mode !== after.mode;
  if (!renamed && !turned) return;
  const counts = await store.counts(tenant, id);
  const all = TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  if (renamed && all > 0) {
    const detail = `The name cannot change while the worker has tasks. It has ${all}, including finished ones.`;
    throw new Problem('worker_has_tasks', detail);
  }
  if (turned && counts.running > 0) {
    const detail = `The mode cannot change while tasks are running. ${counts.running} are running. Pause the worker, and wait until they finish.`;
    throw new Problem('worker_has_tasks', detail);
  }
}

/** Whether the change lets the worker push tasks again. */
function resumesPushing(before: Worker, after: Worker): boolean {
  if (after.mode !== 'push' || after.paused) return false;
  return before.paused || before.mode !== 'push';
}
