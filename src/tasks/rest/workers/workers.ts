import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Worker } from '../../model/documents.ts';
import { TASK_STATUSES } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { putAgain, putNew } from '../../store/put-document.ts';
import { auditEntry } from '../access/audit.ts';
import { limitsOf, quotaExceeded } from '../access/tenant-limits.ts';
import { acceptingAnswer, writableFields } from '../checks/field-reader.ts';
import { invalidParameter, Problem, problemAt } from '../checks/problem.ts';
import { noSuchWorker, readWorker } from '../fields/named-documents.ts';
import { readWorkerFields } from '../fields/read-worker.ts';
import { readHealth, workerChanged } from '../fields/stored-worker.ts';
import { NEW_WORKER, WORKER_ANSWER, WORKER_CHANGES, workerView } from '../fields/worker-fields.ts';
import { withOnFinish } from '../fields/worker-on-finish.ts';
import { recordOf, replayOf } from '../http/idempotency.ts';
import { Cursors, documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag, expectedVersion, expectedVersions } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { deleteWorkerRoute } from './worker-delete.ts';
import { testWorkerRoute } from './worker-test.ts';

/** Maximum number of workers of a page whose tasks are counted at the same time. */
const COUNTS_AT_ONCE = 16;

/** Maximum number of attempts if other requests change the worker at the same time. */
const MAX_TRIES = 5;

/** The field that {@link showWorker} adds to a worker. */
const MOVING: ReadonlySet<string> = new Set(['health']);

const READS = { role: 'viewer', scope: 'workers:read' } as const;
const WRITES = { role: 'admin', scope: 'workers:write' } as const;

/** `/v1/workers` (specification 3.5). */
export function workerRoutes(parts: RestParts): readonly Route[] {
  const cursors = new Cursors(parts.config.cursorKey);
  return [
    {
      method: 'POST',
      path: '/v1/workers',
      operation: 'createWorker',
      summary: 'Create a worker',
      access: WRITES,
      body: NEW_WORKER,
      answers: { 201: { description: 'The new worker', schema: WORKER_ANSWER } },
      problems: ['name_taken', 'invalid_url', 'forbidden_address', 'quota_exceeded'],
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
      handle: call => listWorkers(parts, cursors, call),
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
    ...(['PUT', 'PATCH'] as const).map(
      (method): Route => ({
        method,
        path: '/v1/workers/:id',
        operation: method === 'PUT' ? 'updateWorker' : 'patchWorker',
        summary:
          method === 'PUT'
            ? 'Change a worker; fields that are left out stay unchanged, null restores the default'
            : 'Change a worker, as PUT does',
        access: WRITES,
        body: acceptingAnswer(WORKER_CHANGES, WORKER_ANSWER),
        answers: { 200: { description: 'The worker after the change', schema: WORKER_ANSWER } },
        problems: ['name_taken', 'invalid_url', 'forbidden_address', 'worker_has_tasks', 'version_mismatch'],
        handle: call => updateWorker(parts, call),
      }),
    ),
    deleteWorkerRoute(parts),
    testWorkerRoute(parts),
  ];
}

/** @throws Problem `invalid_parameter` */
async function listWorkers(parts: RestParts, cursors: Cursors, call: Call): Promise<RestAnswer> {
  const { include = '' } = call.query;
  if (include === '') {
    return documentPage(parts.store, call, cursors, {
      kind: 'worker',
      list: 'listWorkers',
      view: workerView,
    });
  }
  if (include !== 'health') throw invalidParameter('include', 'include must be health, or left out');
  const health = new Map<string, Record<string, unknown>>();
  return documentPage(parts.store, call, cursors, {
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
  const { workers } = limitsOf(parts, call);
  const json = workerView({ id, version: 1, body: worker });
  const headers = { Location: `/api/v1/workers/${id}`, ETag: entityTag(1) };
  const answer: RestAnswer = { status: 201, headers, json };
  const put = putNew('worker', id, worker, { atMost: workers });
  const entry = auditEntry(parts, call, {
    action: 'worker.created',
    targetId: id,
    targetName: worker.name,
    changed: Object.keys(call.body),
  });
  const applied = await parts.store.apply(call.tenant, [put, entry], recordOf(call, answer));
  if (applied.kind === 'refused') {
    if (applied.reason === 'name_taken') throw nameTaken(worker.name);
    throw quotaExceeded(
      'workers',
      workers,
      `The account already has ${workers} workers, which is its limit. Delete a worker first.`,
    );
  }
  const earlier = replayOf(applied);
  if (earlier !== null) return earlier;
  workerChanged(parts, call.tenant, id);
  return answer;
}

async function showWorker({ store }: RestParts, call: Call): Promise<RestAnswer> {
  const worker = await readWorker(store, call.tenant, call.params['id']);
  const health = await readHealth(store, { tenant: call.tenant, workerId: worker.id }, call.nowMs);
  const json = { ...workerView(worker), health };
  return { status: 200, headers: { ETag: entityTag(worker.version) }, json };
}

async function updateWorker(parts: RestParts, call: Call): Promise<RestAnswer> {
  const meant = expectedVersions(call);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = await readWorker(parts.store, call.tenant, call.params['id']);
    expectedVersion(meant, before.version);
    const fields = writableFields(call.body, WORKER_CHANGES, workerView(before), MOVING);
    const read = readWorkerFields(fields, before.body, parts.config, call.nowMs);
    const worker = await withOnFinish(parts, call.tenant, fields, { id: before.id, worker: read });
    await checkTasksAllow(parts, call.tenant, before, worker);
    const put = putAgain(before, worker);
    const entry = auditEntry(parts, call, {
      action: 'worker.updated',
      targetId: before.id,
      targetName: worker.name,
      changed: Object.keys(call.body),
    });
    const applied = await parts.store.apply(call.tenant, [put, entry]);
    if (applied.kind === 'done') {
      if (resumesPushing(before.body, worker))
        await parts.store.setWakeup(call.tenant, before.id, call.nowMs);
      workerChanged(parts, call.tenant, before.id);
      const version = applied.versions[0];
      const json = workerView({ id: before.id, version, body: worker });
      return { status: 200, headers: { ETag: entityTag(version) }, json };
    }
    if (applied.kind !== 'refused')
      throw new Error('a change without an idempotency key must not be replayed');
    if (applied.reason === 'name_taken') throw nameTaken(worker.name);
    if (applied.reason === 'missing') throw noSuchWorker(call.params['id']);
  }
  throw new Problem(
    'version_mismatch',
    'Other requests are changing the resource at the same time. Retry the request.',
  );
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

function nameTaken(name: string): Problem {
  const detail = `Another worker has the name ${JSON.stringify(name)}. Choose another name.`;
  return problemAt({ pointer: '/name' }, 'name_taken', detail);
}
