import { TASK_STATUSES, type Task } from '../../model/task.ts';
import { seesPayloads } from '../access/visibility.ts';
import type { ObjectSchema } from '../checks/schema.ts';
import { TASK_ANSWER, taskText, taskView } from '../fields/task-view.ts';
import { entityTag } from '../http/entity-tag.ts';
import { LargeReads } from '../http/large-reads.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { noSuchTask, taskId } from './change-task.ts';
import { findWorkerId } from './task-filter.ts';
import { waitingOf } from './task-waiting.ts';

const READS = { role: 'viewer', scope: 'tasks:read' } as const;

/** Each may have a payload of up to 1 MiB, depending on the settings. */
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
    problems: ['not_found'],
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

/** A task after a change, with its body where the caller may see that. */
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
};

/** `GET /v1/tasks/counts`: how many tasks there are by status, from counters. */
export function countTasksRoute(parts: RestParts): Route {
  return {
    method: 'GET',
    path: '/v1/tasks/counts',
    operation: 'countTasks',
    summary: 'Count tasks by status',
    access: READS,
    query: { worker: 'Name or id of a worker: only its tasks.' },
    answers: { 200: { description: 'How many tasks have each status', schema: COUNTS } },
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
