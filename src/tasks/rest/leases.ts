import { formatTime } from '../model/time.ts';
import type { PullFailure } from '../scheduler/pull-desk.ts';
import type { SettleAnswer } from '../store/requests.ts';
import { FieldReader, type Fields } from './field-reader.ts';
import { LeaseOwners } from './lease-owners.ts';
import { LEASE, takeLeasesRoute } from './lease-take.ts';
import type { RestParts } from './parts.ts';
import { Problem } from './problem.ts';
import { durationField } from './retry-fields.ts';
import type { AnswerDescription, Call, RestAnswer, Route } from './route.ts';
import type { ObjectSchema } from './schema.ts';
import { checkJsonSize, jsonText } from './task-fields.ts';
import { TASK_ANSWER, TIME, taskView } from './task-view.ts';

const DAY_MS = 86_400_000;
const PUT_OFF = { minMs: 0, maxMs: 7 * DAY_MS };
const MAX_RESULT_BYTES = 16 * 1024;
const MAX_DETAILS_BYTES = 4 * 1024;
const MAX_MESSAGE_LENGTH = 1_000;
const LEASE_ID = /^[0-9a-f]{32}$/;

const HEARTBEAT: ObjectSchema = {
  type: 'object',
  name: 'Heartbeat',
  properties: {
    extend: durationField("The lease lasts so long from now: 5s to 12h; the worker's lease by default."),
    progress: { type: 'number', min: 0, max: 100, optional: true, nullable: true },
    note: { type: 'string', max: 200, optional: true, nullable: true },
  },
};

const HEARTBEAT_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'HeartbeatResult',
  properties: {
    expires_at: TIME,
    cancel_requested: { type: 'boolean', description: 'Somebody wants the task to stop: end the attempt.' },
  },
};

const COMPLETION: ObjectSchema = {
  type: 'object',
  name: 'Completion',
  properties: {
    result: { type: 'any', optional: true, nullable: true, description: 'At most 16 KiB of JSON.' },
  },
};

const FAILURE: ObjectSchema = {
  type: 'object',
  name: 'Failure',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', min: 1, max: 64 },
        message: { type: 'string', max: MAX_MESSAGE_LENGTH },
        details: {
          type: 'any',
          optional: true,
          nullable: true,
          description: 'At most 4 KiB of JSON; added to the message, which keeps 1000 characters.',
        },
      },
    },
    retry: { type: 'boolean', optional: true, description: 'False: the task fails for good.' },
    retry_after: durationField('At least so long until the next attempt, at most 7d.'),
  },
};

const RELEASE: ObjectSchema = {
  type: 'object',
  name: 'Release',
  properties: { delay: durationField('How long until the next attempt, at most 7d; none by default.') },
};

const TASK: Record<number, AnswerDescription> = {
  200: { description: 'The task as it is now, without payload, headers and result', schema: TASK_ANSWER },
};

/** Leases of pull workers (specification 3.5.3). */
export function leaseRoutes(parts: RestParts): readonly Route[] {
  const owners = new LeaseOwners(parts.pullDesk);
  const route = (
    name: string,
    summary: string,
    body: ObjectSchema,
    rest: Pick<Route, 'answers' | 'handle'> & Partial<Pick<Route, 'bodyOptional' | 'problems'>>,
  ): Route => ({
    method: 'POST',
    path: `/v1/leases/:lease_id/${name}`,
    operation: `${name}Lease`,
    summary,
    access: { role: 'member', scope: 'leases', workers: true },
    body,
    problems: ['lease_lost'],
    ...rest,
  });
  return [
    takeLeasesRoute(parts, owners),
    route('heartbeat', 'Say that an attempt goes on', HEARTBEAT, {
      bodyOptional: true,
      answers: { 200: { description: 'Until when the lease lasts now', schema: HEARTBEAT_ANSWER } },
      handle: call => heartbeat(parts, owners, call),
    }),
    route('complete', 'Say that a task is done', COMPLETION, {
      bodyOptional: true,
      answers: TASK,
      problems: ['lease_lost', 'payload_too_large'],
      handle: call => complete(parts, owners, call),
    }),
    route('fail', 'Say that an attempt has failed', FAILURE, {
      answers: TASK,
      problems: ['lease_lost', 'payload_too_large'],
      handle: call => fail(parts, owners, call),
    }),
    route('release', 'Give a task back; the attempt is not counted', RELEASE, {
      bodyOptional: true,
      answers: TASK,
      handle: call => release(parts, owners, call),
    }),
  ];
}

async function heartbeat(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const reader = new FieldReader();
  const extendMs = reader.duration(call.body['extend'], '/extend', LEASE);
  reader.finish();
  const leaseId = await leaseOf(owners, call);
  const percent = (call.body['progress'] as number | null | undefined) ?? null;
  const note = (call.body['note'] as string | null | undefined) ?? null;
  const answer = await parts.pullDesk.heartbeat(
    call.tenant,
    leaseId,
    extendMs ?? null,
    percent === null && note === null ? null : { percent, note },
  );
  if (answer.kind === 'lost') throw leaseLost();
  return {
    status: 200,
    json: { expires_at: formatTime(answer.until), cancel_requested: answer.cancelRequested },
  };
}

async function complete(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const result = boundedJson(call.body['result'], '/result', MAX_RESULT_BYTES);
  const leaseId = await leaseOf(owners, call);
  return settled(call, await parts.pullDesk.complete(call.tenant, leaseId, result, call.caller.actor.id));
}

async function fail(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const reader = new FieldReader();
  const retryAfterMs = reader.duration(call.body['retry_after'], '/retry_after', PUT_OFF);
  reader.finish();
  const { code, message, details } = call.body['error'] as Fields & PullFailure;
  const more = boundedJson(details, '/error/details', MAX_DETAILS_BYTES);
  const failure: PullFailure = {
    code,
    message: (more === null ? message : `${message} ${more}`).slice(0, MAX_MESSAGE_LENGTH),
    retry: call.body['retry'] !== false,
    retryAfterMs: retryAfterMs ?? null,
  };
  const leaseId = await leaseOf(owners, call);
  return settled(call, await parts.pullDesk.fail(call.tenant, leaseId, failure, call.caller.actor.id));
}

async function release(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const reader = new FieldReader();
  const delayMs = reader.duration(call.body['delay'], '/delay', PUT_OFF);
  reader.finish();
  const leaseId = await leaseOf(owners, call);
  return settled(
    call,
    await parts.pullDesk.release(call.tenant, leaseId, delayMs ?? 0, call.caller.actor.id),
  );
}

/** JSON text of what may not be larger; null for nothing. @throws Problem `payload_too_large` */
function boundedJson(value: unknown, pointer: string, maxBytes: number): string | null {
  if (value === undefined || value === null) return null;
  const text = jsonText(value);
  if (text === null) throw new Problem('validation_failed', `${pointer} is nested too deep`);
  checkJsonSize(text, pointer, maxBytes);
  return text;
}

/**
 * The id of the lease, which for the token of a worker has to be one of this worker's. Of a lease that is over the
 * answer to settling it tells.
 *
 * @throws Problem `lease_lost`
 */
async function leaseOf(owners: LeaseOwners, { tenant, caller, params }: Call): Promise<string> {
  const leaseId = params['lease_id'];
  if (!LEASE_ID.test(leaseId)) throw leaseLost();
  if (caller.kind === 'worker' && !(await owners.mayBeOf(tenant, leaseId, caller.workerId))) {
    throw leaseLost();
  }
  return leaseId;
}

/** @throws Problem `lease_lost` */
function settled({ caller }: Call, answer: SettleAnswer): RestAnswer {
  if (answer.kind === 'lost') throw leaseLost();
  const { task } = answer;
  if (caller.kind === 'worker' && task.workerId !== caller.workerId) throw leaseLost();
  return { status: 200, json: taskView(task, null) };
}

/** The same for leases that never were. */
function leaseLost(): Problem {
  return new Problem(
    'lease_lost',
    'the lease is not, or not any more, that of a running task: stop working on it, its result does not count',
  );
}
