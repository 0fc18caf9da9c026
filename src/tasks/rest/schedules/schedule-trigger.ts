import { triggerSchedule } from '../../scheduler/schedules/trigger-schedule.ts';
import type { CreateAnswer } from '../../store/requests.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import { Problem } from '../checks/problem.ts';
import { unknownWorker } from '../fields/new-task.ts';
import { TASK_ANSWER, taskView } from '../fields/task-view.ts';
import { entityTag } from '../http/entity-tag.ts';
import { REPLAYED } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { doneOrThrow, firstAnswer, refusedProblem, tellDue } from '../tasks/task-create.ts';
import { readSchedule } from './find-schedule.ts';

/** `POST /v1/schedules/:id/trigger` (specification 3.9). */
export function triggerScheduleRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/schedules/:id/trigger',
    operation: 'triggerSchedule',
    summary: 'Make a task of a schedule now, whatever its overlap says, and also while it is paused',
    access: { role: 'member', scope: 'tasks:write' },
    answers: { 201: { description: 'The new task', schema: TASK_ANSWER } },
    problems: ['not_found', 'quota_exceeded', 'idempotency_key_reused'],
    handle: call => trigger(parts, call),
  };
}

async function trigger(parts: RestParts, call: Call): Promise<RestAnswer> {
  let answer: CreateAnswer;
  try {
    answer = await make(parts, call);
  } catch (thrown) {
    const first = thrown instanceof Problem ? await firstAnswer(parts, call) : null;
    if (first === null) throw thrown;
    answer = first;
  }
  const { kind, results } = doneOrThrow(answer);
  const [result] = results;
  if (result.kind === 'refused') throw new Error('what was refused is not remembered');
  if (kind === 'done') tellDue(parts, call.tenant, results);
  const { task } = result;
  const headers = {
    Location: `/api/v1/tasks/${task.id}`,
    ETag: entityTag(task.version),
    ...(kind === 'replayed' ? REPLAYED : {}),
  };
  return { status: 201, headers, json: taskView(task, null) };
}

/** @throws Problem `not_found`, `quota_exceeded`, or `validation_failed` when the worker is gone */
async function make(parts: RestParts, call: Call): Promise<CreateAnswer> {
  const schedule = await readSchedule(parts.store, call.tenant, call.params['id']);
  const { workerId, worker: name } = schedule.body;
  const worker = await parts.directory.worker(call.tenant, workerId);
  if (worker === null) throw unknownWorker(name);
  const answer = await triggerSchedule(parts, {
    tenant: call.tenant,
    schedule,
    worker,
    limits: limitsOf(parts, call),
    actor: call.caller.actor,
    nowMs: await parts.store.now(),
    idempotency: call.idempotency,
  });
  const [result] = doneOrThrow(answer).results;
  if (result.kind === 'refused') throw refusedProblem(parts, call, name, result);
  return answer;
}
