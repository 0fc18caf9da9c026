import { triggerSchedule } from '../scheduler/trigger-schedule.ts';
import { entityTag } from './entity-tag.ts';
import { readSchedule } from './find-schedule.ts';
import { REPLAYED } from './idempotency.ts';
import { unknownWorker } from './new-task.ts';
import type { RestParts } from './parts.ts';
import type { Call, RestAnswer, Route } from './route.ts';
import { doneOrThrow, refusedProblem, tellDue } from './task-create.ts';
import { TASK_ANSWER, taskView } from './task-view.ts';
import { limitsOf } from './tenant-limits.ts';

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
  const { store, directory } = parts;
  const schedule = await readSchedule(store, call.tenant, call.params['id']);
  const { workerId, worker: name } = schedule.body;
  const worker = await directory.worker(call.tenant, workerId);
  if (worker === null) throw unknownWorker(name);
  const answer = await triggerSchedule(parts, {
    tenant: call.tenant,
    schedule,
    worker,
    limits: limitsOf(parts, call),
    actor: call.caller.actor,
    nowMs: call.nowMs,
    idempotency: call.idempotency,
  });
  const { kind, results } = doneOrThrow(answer);
  const [result] = results;
  if (result.kind === 'refused') throw refusedProblem(parts, call, name, result);
  if (kind === 'done') tellDue(parts, call.tenant, results);
  const { task } = result;
  const headers = {
    Location: `/api/v1/tasks/${task.id}`,
    ETag: entityTag(task.version),
    ...(kind === 'replayed' ? REPLAYED : {}),
  };
  return { status: 201, headers, json: taskView(task, null) };
}
