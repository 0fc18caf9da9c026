import type { TenantLimits } from '../../model/documents.ts';
import { isFinal, TASK_STATUSES } from '../../model/task.ts';
import { formatDuration } from '../../model/time.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { NumberSchema, ObjectSchema, StringSchema } from '../checks/schema.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';

/** What this tenant may have: the defaults, and what its operator has changed. */
export function limitsOf(parts: Pick<RestParts, 'config'>, call: Pick<Call, 'account'>): TenantLimits {
  return { ...parts.config.limits, ...call.account.body.limits };
}

/** How long to wait before asking again, where room comes only as others make it. */
const RETRY_AFTER = { 'Retry-After': '60' } as const;

/**
 * A quota is used up.
 *
 * @param limit its name, as clients know it
 * @param detail what there is too much of, and what makes room
 */
export function quotaExceeded(limit: string, max: number, detail: string): Problem {
  return new Problem('quota_exceeded', detail, { members: { limit, max }, headers: RETRY_AFTER });
}

const COUNT: NumberSchema = { type: 'number', integer: true, min: 0 };
const DURATION: StringSchema = { type: 'string' };

export const LIMITS_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'TenantLimits',
  properties: {
    open_tasks: { ...COUNT, description: 'Tasks whose status is not final.' },
    retain_succeeded: { ...DURATION, description: 'How long succeeded tasks are kept.' },
    retain_other: { ...DURATION, description: 'How long failed, canceled and expired tasks are kept.' },
    payload_bytes: COUNT,
    workers: COUNT,
    schedules: COUNT,
    users: COUNT,
    tokens_per_user: COUNT,
    in_flight: { ...COUNT, description: 'Attempts at once.' },
    dispatch_per_second: { ...COUNT, description: 'Attempts that start in a second.' },
  },
};

export const USE_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: { open_tasks: COUNT, workers: COUNT, schedules: COUNT, users: COUNT, in_flight: COUNT },
};

const ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Limits',
  properties: {
    limits: LIMITS_SCHEMA,
    use: USE_SCHEMA,
    time_zone_data: { type: 'string', description: 'The version of the IANA time zone data in use.' },
  },
};

/** `GET /v1/limits`: what the tenant may have, and has. Limits on calls are in the `RateLimit` fields of each answer. */
export function limitRoutes(parts: RestParts): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/limits',
      operation: 'getLimits',
      summary: 'Limits of the account, and how much of them is used',
      access: { role: 'viewer', scope: 'tasks:read' },
      answers: { 200: { description: 'Limits and use.', schema: ANSWER } },
      problems: [],
      handle: call => showLimits(parts, call),
    },
  ];
}

async function showLimits(parts: RestParts, call: Call): Promise<RestAnswer> {
  return {
    status: 200,
    json: {
      limits: limitsView(limitsOf(parts, call)),
      use: await useOf(parts.store, call.tenant),
      time_zone_data: process.versions.tz ?? 'unknown',
    },
  };
}

/** Limits as answers show them: {@link LIMITS_SCHEMA}. */
export function limitsView(limits: TenantLimits): Record<string, string | number> {
  return {
    open_tasks: limits.openTasks,
    retain_succeeded: formatDuration(limits.retainSucceededMs),
    retain_other: formatDuration(limits.retainOtherMs),
    payload_bytes: limits.payloadBytes,
    workers: limits.workers,
    schedules: limits.schedules,
    users: limits.users,
    tokens_per_user: limits.tokensPerUser,
    in_flight: limits.inFlight,
    dispatch_per_second: limits.dispatchPerSecond,
  };
}

/** How much of its limits a tenant uses: {@link USE_SCHEMA}. */
export async function useOf(store: TaskStore, tenant: string): Promise<Record<string, number>> {
  const [counts, workers, schedules, users] = await Promise.all([
    store.counts(tenant, null),
    store.countDocuments(tenant, 'worker'),
    store.countDocuments(tenant, 'schedule'),
    store.countDocuments(tenant, 'user'),
  ]);
  let open = 0;
  for (const status of TASK_STATUSES) if (!isFinal(status)) open += counts[status];
  return { open_tasks: open, workers, schedules, users, in_flight: counts.running };
}
