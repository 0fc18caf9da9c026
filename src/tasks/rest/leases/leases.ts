import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { formatTime } from '../../model/time.ts';
import { FieldReader } from '../checks/field-reader.ts';
import { durationField, TIME } from '../checks/resource.ts';
import { TASK_ANSWER, taskView } from '../fields/task-fields.ts';
import { remembered } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import type { AnswerDescription, Call, RestAnswer, Route } from '../http/route.ts';
import {
  COMPLETION,
  endAttempt,
  FAILURE,
  LeaseOwners,
  leaseLost,
  type OutcomeKind,
  ownLease,
  RELEASE,
  readOutcome,
} from './lease-outcomes.ts';
import { settleLeasesRoute } from './lease-settle.ts';
import { LEASE, takeLeasesRoute } from './lease-take.ts';

const HEARTBEAT: ObjectSchema = {
  type: 'object',
  name: 'Heartbeat',
  properties: {
    extend: durationField('How long the lease lasts from now: 5s to 12h. Default: the lease of the worker.'),
    progress: { type: 'number', min: 0, max: 100, optional: true, nullable: true },
    note: { type: 'string', max: 200, optional: true, nullable: true },
  },
  example: { extend: '60s', progress: 40, note: '400 of 1000 rows' },
};

const HEARTBEAT_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'HeartbeatResult',
  properties: {
    expires_at: TIME,
    cancel_requested: {
      type: 'boolean',
      description: 'The cancellation of the task was requested: end the attempt.',
    },
  },
  example: { expires_at: '2026-03-01T10:17:00.000Z', cancel_requested: false },
};

const TASK: Record<number, AnswerDescription> = {
  200: { description: 'The task after the change, without payload, headers and result', schema: TASK_ANSWER },
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
    handle: call => remembered(parts.store, call, () => rest.handle(call)),
  });
  const ending = (kind: OutcomeKind): Pick<Route, 'answers' | 'handle'> => ({
    answers: TASK,
    handle: async call => {
      const outcome = readOutcome(kind, call.body);
      const task = await endAttempt(parts, owners, call, call.params['lease_id'], outcome);
      return { status: 200, json: taskView(task, null) };
    },
  });
  return [
    takeLeasesRoute(parts, owners),
    route('heartbeat', 'Extend a lease', HEARTBEAT, {
      bodyOptional: true,
      answers: { 200: { description: 'The new end of the lease', schema: HEARTBEAT_ANSWER } },
      handle: call => heartbeat(parts, owners, call),
    }),
    route('complete', 'Complete a task', COMPLETION, {
      ...ending('complete'),
      bodyOptional: true,
      problems: ['lease_lost', 'payload_too_large'],
    }),
    route('fail', 'Report a failed attempt', FAILURE, {
      ...ending('fail'),
      problems: ['lease_lost', 'payload_too_large'],
    }),
    route('release', 'Return a task without counting the attempt', RELEASE, {
      ...ending('release'),
      bodyOptional: true,
    }),
    settleLeasesRoute(parts, owners),
  ];
}

async function heartbeat(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const reader = new FieldReader();
  const extendMs = reader.duration(call.body['extend'], '/extend', LEASE);
  reader.finish();
  const leaseId = await ownLease(owners, call, call.params['lease_id']);
  const percent = (call.body['progress'] as number | null | undefined) ?? null;
  const note = (call.body['note'] as string | null | undefined) ?? null;
  const answer = await parts.pullDesk.leases.heartbeat(
    call.tenant,
    leaseId,
    extendMs ?? null,
    percent === null && note === null ? null : { percent, note, actor: call.caller.actor },
  );
  if (answer.kind === 'lost') throw leaseLost();
  return {
    status: 200,
    json: { expires_at: formatTime(answer.until), cancel_requested: answer.cancelRequested },
  };
}
