import { TASK_ANSWER, taskView } from '../fields/task-view.ts';
import { entityTag } from '../http/entity-tag.ts';
import { remembered } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { changeProblem, changeTask, meantVersion, type TaskAction, taskId } from './change-task.ts';

/** Last segments of paths, what they do to a task, and how they are documented. */
const COMMANDS = [
  ['cancel', 'cancel', 'Cancel a task; one that runs is asked to stop'],
  ['retry', 'replay', 'Run a task again that is over, from its first attempt'],
  ['run', 'run', 'Make a waiting task due now'],
  ['pause', 'pause', 'Hold a waiting task'],
  ['resume', 'resume', 'Let a paused task go on'],
] as const satisfies readonly (readonly [string, TaskAction, string])[];

/** `POST /v1/tasks/:id/{cancel,retry,run,pause,resume}`: short for a change of the status (specification 3.2). */
export function taskCommandRoutes(parts: RestParts): readonly Route[] {
  return COMMANDS.map(([name, action, summary]) => ({
    method: 'POST',
    path: `/v1/tasks/:id/${name}`,
    operation: `${name}Task`,
    summary,
    access: { role: 'member', scope: 'tasks:write' },
    answers: {
      200: { description: 'The task as it is now, without payload, headers and result', schema: TASK_ANSWER },
    },
    problems: [
      'not_found',
      'invalid_transition',
      'task_key_exists',
      'version_mismatch',
      'idempotency_key_reused',
    ],
    handle: call => remembered(parts.store, call, () => command(parts, call, action)),
  }));
}

async function command(parts: RestParts, call: Call, action: TaskAction): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  const change = {
    action,
    patch: {},
    expectVersion: await meantVersion(parts, call, id),
    actor: call.caller.actor,
  };
  const answer = await changeTask(parts, call.tenant, id, change);
  if (answer.kind === 'refused') throw changeProblem(id, action, answer);
  const { task } = answer;
  return { status: 200, headers: { ETag: entityTag(task.version) }, json: taskView(task, null) };
}
