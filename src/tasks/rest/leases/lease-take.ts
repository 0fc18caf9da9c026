import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { traceOf } from '../../model/task-headers.ts';
import { formatTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { ClaimedTask } from '../../store/requests.ts';
import { NAMED } from '../checks/example-names.ts';
import { FieldReader } from '../checks/field-reader.ts';
import { PLAIN_TEXT } from '../checks/plain-text.ts';
import { Problem, retryLater } from '../checks/problem.ts';
import { DURATION, durationField, TIME } from '../checks/resource.ts';
import { findWorker, noSuch } from '../fields/named-documents.ts';
import { TASK_ANSWER, TASK_EXAMPLE, taskText } from '../fields/task-fields.ts';
import { keyReused, REPLAYED } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import type { LeaseOwners } from './lease-outcomes.ts';

const MAX_LEASES = 100;
const WAIT = { minMs: 0, maxMs: 30_000 };
export const LEASE = { minMs: 5_000, maxMs: 12 * 3_600_000 };

const LEASES_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'LeaseRequest',
  properties: {
    max: {
      type: 'number',
      integer: true,
      min: 1,
      max: MAX_LEASES,
      optional: true,
      description:
        'Maximum number of tasks. Default: 1. Fewer are returned if their payloads exceed 1 MiB in total.',
    },
    wait: {
      ...DURATION,
      optional: true,
      description: 'How long to wait for the first task: 0s to 30s. Default: 0s.',
    },
    lease: durationField(
      'How long a lease lasts without a heartbeat: 5s to 12h. Default: the lease of the worker.',
    ),
    instance: {
      type: 'string',
      min: 1,
      max: 128,
      ...PLAIN_TEXT,
      optional: true,
      description:
        'Name of the calling instance, recorded in the history as the actor that started the attempt. No control characters.',
    },
  },
  example: { max: 10, wait: '20s', lease: '60s', instance: 'mailer-7f9c' },
};

const LEASES_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Leases',
  properties: {
    leases: {
      type: 'array',
      items: {
        type: 'object',
        name: 'Lease',
        properties: {
          lease_id: { type: 'string' },
          expires_at: TIME,
          traceparent: {
            type: 'string',
            nullable: true,
            description:
              'Trace context of the call that created the task (W3C Trace Context); null for none.',
          },
          tracestate: { type: 'string', nullable: true },
          task: TASK_ANSWER,
        },
      },
    },
  },
  example: {
    leases: [
      {
        lease_id: NAMED.lease,
        expires_at: '2026-03-01T10:16:00.000Z',
        traceparent: null,
        tracestate: null,
        task: {
          ...TASK_EXAMPLE,
          status: 'running',
          next_attempt_at: null,
          attempt: 1,
          started_at: '2026-03-01T10:15:00.000Z',
          version: 2,
          payload: { to: NAMED.email, template: 'welcome' },
          url: null,
          headers: {},
          result: null,
        },
      },
    ],
  },
};

/** `POST /v1/workers/:id/leases` (specification 3.5.3). */
export function takeLeasesRoute(parts: RestParts, owners: LeaseOwners): Route {
  return {
    method: 'POST',
    path: '/v1/workers/:id/leases',
    operation: 'leaseTasks',
    summary: 'Lease tasks to work on',
    access: { role: 'member', scope: 'leases', workers: true },
    body: LEASES_SCHEMA,
    bodyOptional: true,
    answers: {
      200: {
        description: 'Leased tasks with their payloads; empty if no task became due in time',
        schema: LEASES_ANSWER,
      },
    },
    problems: ['worker_mode_mismatch', 'shutting_down'],
    handle: call => takeLeases(parts, owners, call),
  };
}

async function takeLeases(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const worker = await pullWorker(parts, call);
  const reader = new FieldReader();
  const waitMs = reader.duration(call.body['wait'], '/wait', WAIT);
  const leaseMs = reader.duration(call.body['lease'], '/lease', LEASE);
  reader.finish();
  const earlier = await earlierLeases(parts, call);
  if (earlier !== null) return { status: 200, headers: REPLAYED, text: leasesText(earlier) };
  if (parts.pullDesk.stopped) {
    throw retryLater(
      'shutting_down',
      'This instance is shutting down and no longer hands out leases. Retry the request; another instance will answer.',
    );
  }
  const instance = call.body['instance'] as string | undefined;
  const claimed = await parts.pullDesk.lease({
    tenant: call.tenant,
    workerId: worker.id,
    max: (call.body['max'] as number | undefined) ?? 1,
    waitMs: waitMs ?? 0,
    leaseMs: leaseMs ?? null,
    actor: instance === undefined ? call.caller.actor : { type: 'worker', id: instance },
    gone: call.gone,
    allowed: async () => {
      await call.stillAllowed();
      await pullWorker(parts, call);
    },
  });
  for (const { leaseId } of claimed) owners.took(leaseId, worker.id);
  if (call.idempotency !== null) {
    const note = JSON.stringify(claimed.map(({ leaseId, leaseUntil }) => [leaseId, leaseUntil]));
    await parts.store.remember(call.tenant, { ...call.idempotency, note });
  }
  return { status: 200, text: leasesText(claimed) };
}

/** @throws Problem if the worker does not exist, is not a pull worker, or the caller may not lease its tasks */
async function pullWorker(
  { directory }: RestParts,
  { tenant, caller, params }: Call,
): Promise<StoredDocument<'worker'>> {
  const worker = await findWorker(directory, tenant, params['id']);
  if (worker === null) throw noSuch('worker', params['id']);
  if (caller.kind === 'worker' && caller.workerId !== worker.id) {
    throw new Problem(
      'insufficient_scope',
      'The token of a worker allows only requests for the leases of that worker.',
    );
  }
  const { name, mode } = worker.body;
  if (mode !== 'pull') {
    throw new Problem(
      'worker_mode_mismatch',
      `Worker "${name}" is a push worker. Only tasks of pull workers can be leased.`,
    );
  }
  return worker;
}

/**
 * The leases that an earlier request with the same key got, as far as they are still active; null for a new request. So
 * a caller that missed the response can repeat the request without losing leases.
 */
async function earlierLeases({ store, pullDesk }: RestParts, call: Call): Promise<readonly Leased[] | null> {
  const { tenant, idempotency } = call;
  if (idempotency === null) return null;
  const known = await store.recall(tenant, idempotency);
  if (known.kind === 'reused') throw keyReused();
  if (known.kind !== 'replayed') return null;
  const live: Omit<Leased, 'body'>[] = [];
  for (const [leaseId, leaseUntil] of JSON.parse(known.note) as [string, number][]) {
    const task = await pullDesk.leases.leased(tenant, leaseId);
    if (task !== null) live.push({ leaseId, leaseUntil, task });
  }
  const whole: Leased[] = [];
  for (let read = 0; read < live.length; ) {
    const some = live.slice(read);
    // One call may return only some of the bodies.
    const bodies = await store.bodies(
      tenant,
      some.map(({ task }) => task.id),
    );
    for (const lease of some.slice(0, bodies.size)) {
      const body = bodies.get(lease.task.id) ?? null;
      if (body !== null) whole.push({ ...lease, body });
    }
    read += bodies.size;
  }
  return whole;
}

type Leased = Pick<ClaimedTask, 'leaseId' | 'leaseUntil' | 'task' | 'body'>;

/** The JSON text of the response. A caller that may lease a task sees its payload. */
function leasesText(leased: readonly Leased[]): string {
  const items = leased.map(({ leaseId, leaseUntil, task, body }) => {
    const trace = traceOf(body.headers);
    const lease = {
      lease_id: leaseId,
      expires_at: formatTime(leaseUntil),
      traceparent: trace?.traceparent ?? null,
      tracestate: trace?.tracestate || null,
    };
    return `${JSON.stringify(lease).slice(0, -1)},"task":${taskText(task, body)}}`;
  });
  return `{"leases":[${items.join(',')}]}`;
}
