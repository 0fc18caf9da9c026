import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { TASK_STATUSES, type Task, type TaskBody } from '../../model/task.ts';
import { placeOf } from '../../store/search.ts';
import { seesPayloads } from '../access/authorization.ts';
import { invalidParameter, Problem } from '../checks/problem.ts';
import { TASK_ANSWER, taskText, taskView } from '../fields/task-fields.ts';
import { LargeReads } from '../http/bounded.ts';
import { PAGE_QUERY, PAGES_AT_ONCE, pageAnswer, pageSchema, readPage } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { noSuchTask, taskId } from './change-task.ts';
import { FILTER_DESCRIPTIONS, findWorkerId, readTaskFilter } from './task-filter.ts';
import { waitingOf } from './task-waiting.ts';

const READS = { role: 'viewer', scope: 'tasks:read' } as const;

/** Maximum number of concurrent reads; each task may have a payload of up to 1 MiB, depending on the settings. */
const TASKS_AT_ONCE = 16;

/** `GET /v1/tasks/:id` (specification 3.2). */
export function readTaskRoute(parts: RestParts): Route {
  const reads = new LargeReads(TASKS_AT_ONCE);
  return {
    method: 'GET',
    path: '/v1/tasks/:id',
    operation: 'readTask',
    summary: 'Read a task',
    access: READS,
    answers: { 200: { description: 'The task', schema: TASK_ANSWER } },
    handle: call => reads.run(call.tenant, () => readTask(parts, call)),
  };
}

async function readTask(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { store } = parts;
  const id = taskId(call.params['id']);
  const whole = seesPayloads(call.caller) ? await store.getWhole(call.tenant, id) : null;
  const task = whole?.task ?? (await store.get(call.tenant, id));
  if (task === null) throw noSuchTask(id);
  const waiting = await waitingOf(parts, call, [task]);
  return {
    status: 200,
    headers: { ETag: entityTag(task.version) },
    text: taskText(task, whole?.body ?? null, waiting(task)),
  };
}

/** The response with a task after a change, with its body if the caller may see it. */
export async function changedAnswer({ store }: RestParts, call: Call, task: Task): Promise<RestAnswer> {
  const bodies = seesPayloads(call.caller) ? await store.bodies(call.tenant, [task.id]) : null;
  return {
    status: 200,
    headers: { ETag: entityTag(task.version) },
    json: taskView(task, bodies?.get(task.id) ?? null),
  };
}

const COUNTS: ObjectSchema = {
  type: 'object',
  name: 'TaskCounts',
  properties: {
    counts: {
      type: 'object',
      properties: Object.fromEntries(
        TASK_STATUSES.map(status => [status, { type: 'number', integer: true, min: 0 }]),
      ),
    },
  },
  example: {
    counts: {
      scheduled: 1_180,
      running: 7,
      retry: 12,
      paused: 5,
      succeeded: 48_210,
      failed: 31,
      canceled: 2,
      expired: 0,
    },
  },
};

/** `GET /v1/tasks/counts`. The store maintains the counters. */
export function countTasksRoute(parts: RestParts): Route {
  return {
    method: 'GET',
    path: '/v1/tasks/counts',
    operation: 'countTasks',
    summary: 'Count tasks by status',
    access: READS,
    query: { worker: 'Name or id of a worker; counts only its tasks.' },
    answers: { 200: { description: 'The number of tasks by status', schema: COUNTS } },
    problems: ['validation_failed'],
    handle: call => countTasks(parts, call),
  };
}

async function countTasks(parts: RestParts, call: Call): Promise<RestAnswer> {
  const text = call.query['worker'] ?? '';
  const workerId = text === '' ? null : await findWorkerId(parts, call.tenant, text);
  const counts = await parts.store.counts(call.tenant, workerId);
  return { status: 200, json: { counts } };
}

/** `GET /v1/tasks` (specification 3.10). */
export function listTasksRoute(parts: RestParts): Route {
  const reads = new LargeReads(PAGES_AT_ONCE);
  return {
    method: 'GET',
    path: '/v1/tasks',
    operation: 'listTasks',
    summary: 'List tasks by creation time or due time',
    access: { role: 'viewer', scope: 'tasks:read' },
    query: {
      ...FILTER_DESCRIPTIONS,
      ...PAGE_QUERY,
      include: '`payload`: include payloads, headers and results. Requires permission to see payloads.',
    },
    answers: { 200: { description: 'A page of tasks', schema: pageSchema('TaskPage', TASK_ANSWER) } },
    problems: ['invalid_status', 'invalid_time_range', 'validation_failed', 'payload_hidden'],
    handle: call => {
      const withBodies = readInclude(call);
      const list = () => listTasks(parts, call, withBodies);
      return withBodies ? reads.run(call.tenant, list) : list();
    },
  };
}

async function listTasks(parts: RestParts, call: Call, withBodies: boolean): Promise<RestAnswer> {
  const page = readPage(parts, call, 'listTasks');
  const filter = await readTaskFilter(parts, call, call.query);
  if (filter === null) return pageAnswer(page, [], { placeOf: String, write: String });
  const { after, order, limit } = page;
  const found = await parts.store.search(call.tenant, { ...filter, after, order, limit: limit + 1 });
  const onPage = found.tasks.slice(0, limit);
  const waiting = await waitingOf(parts, call, onPage);
  const ids = withBodies ? onPage.map(({ id }) => id) : [];
  const bodies = ids.length === 0 ? NO_BODIES : await parts.store.bodies(call.tenant, ids);
  return pageAnswer(
    // If the store returned fewer bodies, the page ends there, and the next page starts after them.
    withBodies ? { ...page, limit: bodies.size } : page,
    found.tasks,
    {
      placeOf: task => placeOf(task, filter.by),
      write: task => taskText(task, bodies.get(task.id) ?? null, waiting(task)),
      behind: found.behind,
    },
  );
}

const NO_BODIES: ReadonlyMap<string, TaskBody | null> = new Map();

/** @throws Problem `invalid_parameter` or `payload_hidden` */
function readInclude(call: Call): boolean {
  const text = call.query['include'] ?? '';
  if (text === '') return false;
  if (text !== 'payload') throw invalidParameter('include', 'include must be payload, or left out');
  if (seesPayloads(call.caller)) return true;
  throw new Problem(
    'payload_hidden',
    'Payloads require the role member and, if the token has scopes, the scope tasks:payload. Leave out include=payload.',
  );
}
