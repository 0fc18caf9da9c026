import { FIRST_LOOK_MS } from '../../scheduler/upkeep/removals.ts';
import { Problem } from '../checks/problem.ts';
import { TASK_ANSWER, taskView } from '../fields/task-view.ts';
import { versionMismatch } from '../http/entity-tag.ts';
import { readFlag } from '../http/flag.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { changeTask, meantVersion, noSuchTask, removeTask, taskId } from './change-task.ts';

/** `DELETE /v1/tasks/:id` (specification 3.2). */
export function deleteTaskRoute(parts: RestParts): Route {
  return {
    method: 'DELETE',
    path: '/v1/tasks/:id',
    operation: 'deleteTask',
    summary: 'Delete a task, with its history',
    access: { role: 'member', scope: 'tasks:write' },
    query: { force: '`true`: a running task is canceled, and removed when it has ended.' },
    answers: {
      204: { description: 'It is gone' },
      202: { description: 'It runs: it was asked to stop, and is removed when it has', schema: TASK_ANSWER },
    },
    problems: ['not_found', 'task_running', 'version_mismatch', 'invalid_parameter'],
    handle: call => deleteTask(parts, call),
  };
}

async function deleteTask(parts: RestParts, call: Call): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  const force = readFlag(call, 'force');
  const expected = await meantVersion(parts, call, id);
  const answer = await removeTask(parts, call.tenant, id, expected, null);
  switch (answer) {
    case 'removed':
      parts.logger.info('tasks: a task was removed', {
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
  const detail = 'the task is running: wait for its end, or say force=true to cancel it and remove it then';
  return new Problem('task_running', detail);
}

/** The removal is written first: whatever happens next, somebody will look at it. */
async function removeAtEnd(parts: RestParts, call: Call, id: string): Promise<RestAnswer> {
  const { store, logger } = parts;
  const { actor } = call.caller;
  const dueAt = (await store.now()) + FIRST_LOOK_MS;
  const body = { requestedAt: call.nowMs, actor };
  await store.apply(call.tenant, [
    { op: 'put', kind: 'removal', id, expect: 'any', parent: '', dueAt, unique: [], body },
  ]);
  const change = { action: 'cancel', patch: {}, expectVersion: null, actor } as const;
  const answer = await changeTask(parts, call.tenant, id, change);
  logger.info('tasks: a running task is removed at its end', { tenant: call.tenant, task: id, by: actor.id });
  // A task that has ended since is removed all the same.
  if (answer.task === null) throw noSuchTask(id);
  return { status: 202, json: taskView(answer.task, null) };
}
