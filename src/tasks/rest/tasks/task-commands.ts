import { FIRST_REMOVAL_LOOK_MS } from '../../scheduler/upkeep/deletions.ts';
import { putNew } from '../../store/put-document.ts';
import { Problem } from '../checks/problem.ts';
import { TASK_ANSWER, taskView } from '../fields/task-fields.ts';
import { remembered } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { readFlag } from '../http/read-request.ts';
import { entityTag, versionMismatch } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import {
  changeProblem,
  changeTask,
  noSuchTask,
  removeTask,
  requiredVersion,
  type TaskAction,
  taskId,
} from './change-task.ts';

/** The last segments of the paths, their actions and their summaries. */
const COMMANDS = [
  ['cancel', 'cancel', 'Cancel a task; a running task is asked to stop'],
  ['retry', 'replay', 'Replay a finished task from its first attempt'],
  ['run', 'run', 'Make a waiting task due now'],
  ['pause', 'pause', 'Pause a waiting task'],
  ['resume', 'resume', 'Resume a paused task'],
] as const satisfies readonly (readonly [string, TaskAction, string])[];

/** `POST /v1/tasks/:id/{cancel,retry,run,pause,resume}`: shortcuts for changes of the status (specification 3.2). */
export function taskCommandRoutes(parts: RestParts): readonly Route[] {
  return COMMANDS.map(([name, action, summary]) => ({
    method: 'POST',
    path: `/v1/tasks/:id/${name}`,
    operation: `${name}Task`,
    summary,
    access: { role: 'member', scope: 'tasks:write' },
    answers: {
      200: {
        description: 'The task after the change, without payload, headers and result',
        schema: TASK_ANSWER,
      },
    },
    problems: ['invalid_transition', 'task_key_exists', 'version_mismatch'],
    handle: call => remembered(parts.store, call, () => command(parts, call, action)),
  }));
}

async function command(parts: RestParts, call: Call, action: TaskAction): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  const change = {
    action,
    patch: {},
    expectVersion: await requiredVersion(parts, call, id),
    actor: call.caller.actor,
  };
  const answer = await changeTask(parts, call.tenant, id, change);
  if (answer.kind === 'refused') throw changeProblem(id, action, answer);
  const { task } = answer;
  return { status: 200, headers: { ETag: entityTag(task.version) }, json: taskView(task, null) };
}

/** `DELETE /v1/tasks/:id` (specification 3.2). */
export function deleteTaskRoute(parts: RestParts): Route {
  return {
    method: 'DELETE',
    path: '/v1/tasks/:id',
    operation: 'deleteTask',
    summary: 'Delete a task and its history',
    access: { role: 'member', scope: 'tasks:write' },
    query: { force: '`true`: cancel a running task, and delete it when it has finished.' },
    answers: {
      204: { description: 'Deleted' },
      202: {
        description: 'The task is running: it was asked to stop, and is deleted when it has finished',
        schema: TASK_ANSWER,
      },
    },
    problems: ['task_running', 'version_mismatch'],
    handle: call => deleteTask(parts, call),
  };
}

async function deleteTask(parts: RestParts, call: Call): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  const force = readFlag(call, 'force');
  const expected = await requiredVersion(parts, call, id);
  const answer = await removeTask(parts, call.tenant, id, expected);
  switch (answer) {
    case 'removed':
      parts.logger.info('Task deleted', {
        tenant: call.tenant,
        task: id,
        by: call.caller.actor.id,
      });
      return { status: 204 };
    case 'missing':
      throw noSuchTask(id);
    case 'version':
      throw versionMismatch();
    case 'running':
      if (!force) throw taskRunning();
      return removeAtEnd(parts, call, id);
  }
}

function taskRunning(): Problem {
  const detail =
    'The task is running. Wait until it finishes, or use force=true to cancel it and delete it afterwards.';
  return new Problem('task_running', detail);
}

/** Writes the removal before the cancellation, so that a crash in between does not lose it. */
async function removeAtEnd(parts: RestParts, call: Call, id: string): Promise<RestAnswer> {
  const { store, logger } = parts;
  const { actor } = call.caller;
  const dueAt = (await store.now()) + FIRST_REMOVAL_LOOK_MS;
  const body = { requestedAt: call.nowMs, actor };
  await store.apply(call.tenant, [putNew('removal', id, body, { expect: 'any', dueAt })]);
  const change = { action: 'cancel', patch: {}, expectVersion: null, actor } as const;
  const answer = await changeTask(parts, call.tenant, id, change);
  logger.info('Running task canceled; it is deleted when it has finished', {
    tenant: call.tenant,
    task: id,
    by: actor.id,
  });
  // A task that has finished in the meantime is removed as well.
  if (answer.task === null) throw noSuchTask(id);
  return { status: 202, json: taskView(answer.task, null) };
}
