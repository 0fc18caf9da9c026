import type { NumberSchema, ObjectSchema, StringSchema } from '../../../base/schema/schema.ts';
import type { TenantLimits } from '../../model/documents.ts';
import { isFinal, TASK_STATUSES } from '../../model/task.ts';
import { formatDuration } from '../../model/time.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';

/** The limits of a tenant: the defaults, with the changes by the operator. */
export function limitsOf(parts: Pick<RestParts, 'config'>, call: Pick<Call, 'account'>): TenantLimits {
  return { ...parts.config.limits, ...call.account.body.limits };
}

/** Quotas have no fixed time at which they are available again. */
const RETRY_AFTER = { 'Retry-After': '60' } as const;

/**
 * The response if a quota is used up.
 *
 * @param limit the name of the limit in the API
 * @param detail which quota is used up, and what the caller can do
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
    open_tasks: { ...COUNT, description: 'Maximum number of open (not yet finished) tasks.' },
    retain_succeeded: { ...DURATION, description: 'How long succeeded tasks are kept.' },
    retain_other: { ...DURATION, description: 'How long failed, canceled and expired tasks are kept.' },
    payload_bytes: COUNT,
    workers: COUNT,
    schedules: COUNT,
    users: COUNT,
    tokens_per_user: COUNT,
    in_flight: { ...COUNT, description: 'Maximum number of concurrent attempts.' },
    dispatch_per_second: { ...COUNT, description: 'Maximum number of attempts that start per second.' },
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

/** `GET /v1/limits`. The rate limits of calls are in the `RateLimit` header fields of each response. */
export function limitRoutes(parts: RestParts): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/limits',
      operation: 'getLimits',
      summary: 'Read the limits of the account and their current use',
      access: { role: 'viewer', scope: 'tasks:read' },
      answers: { 200: { description: 'The limits and their use.', schema: ANSWER } },
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

/** Limits in the form of {@link LIMITS_SCHEMA}. */
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

/** The current use of the limits, in the form of {@link USE_SCHEMA}. */
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
