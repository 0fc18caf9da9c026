import { DAY_MS, HOUR_MS } from '../../../base/clock.ts';
import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Account, TenantLimits } from '../../model/documents.ts';
import { isFinal, TASK_STATUSES } from '../../model/task.ts';
import { DURATION_ACCEPTED, formatDuration, parseDuration } from '../../model/time.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import { COUNT, TEXT } from '../checks/resource.ts';
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

/** A limit of an account, which the operator can change within its bounds; for durations in milliseconds. */
interface Limit {
  readonly field: keyof TenantLimits;
  readonly min: number;
  readonly max: number;
  readonly isDuration?: true;
  readonly description?: string;
  readonly example: string | number;
}

const KEPT = { min: HOUR_MS, max: 366 * DAY_MS, isDuration: true } as const;

/** All limits by their names in the API. */
const LIMITS: Readonly<Record<string, Limit>> = {
  open_tasks: {
    field: 'openTasks',
    min: 1,
    max: 100_000_000,
    description: 'Maximum number of open (not yet finished) tasks.',
    example: 1_000_000,
  },
  retain_succeeded: {
    field: 'retainSucceededMs',
    ...KEPT,
    description: 'How long succeeded tasks are kept.',
    example: '7d',
  },
  retain_other: {
    field: 'retainOtherMs',
    ...KEPT,
    description: 'How long failed, canceled and expired tasks are kept.',
    example: '30d',
  },
  payload_bytes: { field: 'payloadBytes', min: 1, max: 1024 * 1024, example: 262_144 },
  workers: { field: 'workers', min: 1, max: 10_000, example: 100 },
  schedules: { field: 'schedules', min: 1, max: 100_000, example: 1_000 },
  users: { field: 'users', min: 1, max: 10_000, example: 100 },
  tokens_per_user: { field: 'tokensPerUser', min: 1, max: 1_000, example: 50 },
  in_flight: {
    field: 'inFlight',
    min: 1,
    max: 100_000,
    description: 'Maximum number of concurrent attempts.',
    example: 200,
  },
  dispatch_per_second: {
    field: 'dispatchPerSecond',
    min: 1,
    max: 100_000,
    description: 'Maximum number of attempts that start per second.',
    example: 500,
  },
};

/** What a schema has for each limit. */
function ofLimits(schema: (limit: Limit) => Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, schema(limit)]));
}

export const LIMITS_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'TenantLimits',
  properties: ofLimits(({ isDuration, description, example }) => ({
    ...(isDuration === true ? TEXT : COUNT),
    ...(description !== undefined && { description }),
    example,
  })),
};

/** A change of limits. */
export const LIMITS_CHANGE: ObjectSchema = {
  type: 'object',
  description: 'Limits that are left out stay unchanged; null restores the default.',
  properties: ofLimits(({ min, max, isDuration }) =>
    isDuration === true
      ? { type: 'string', max: 64, optional: true, nullable: true, description: 'From 1h to 366d.' }
      : { type: 'number', integer: true, min, max, optional: true, nullable: true },
  ),
};

export const USE_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: { open_tasks: COUNT, workers: COUNT, schedules: COUNT, users: COUNT, in_flight: COUNT },
  example: { open_tasks: 1_204, workers: 3, schedules: 1, users: 2, in_flight: 7 },
};

const ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Limits',
  properties: {
    limits: LIMITS_SCHEMA,
    use: USE_SCHEMA,
    time_zone_data: {
      type: 'string',
      description: 'The version of the IANA time zone data in use.',
      example: '2026a',
    },
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
  return Object.fromEntries(
    Object.entries(LIMITS).map(([name, { field, isDuration }]) => [
      name,
      isDuration === true ? formatDuration(limits[field]) : limits[field],
    ]),
  );
}

/** Names of the limits that the operator has changed; the others have their defaults. */
export function changedLimitNames(limits: Account['limits']): string[] {
  return Object.keys(LIMITS).filter(name => limits[LIMITS[name].field] !== undefined);
}

/**
 * Applies a change to the limits of an account.
 *
 * @param asked limits that {@link LIMITS_CHANGE} has accepted
 * @throws Problem `validation_failed`
 */
export function changedLimits(
  before: Account['limits'],
  asked: Readonly<Record<string, string | number | null>>,
): Account['limits'] {
  const after: Partial<Record<keyof TenantLimits, number>> = { ...before };
  const errors: ProblemPart[] = [];
  for (const [name, value] of Object.entries(asked)) {
    const { field, min, max, isDuration } = LIMITS[name];
    const read = isDuration === true ? parseDuration(value) : (value as number);
    if (value === null) delete after[field];
    else if (read !== null && read >= min && read <= max) after[field] = read;
    else {
      const detail = `/limits/${name} must be ${DURATION_ACCEPTED}, from 1h to 366d`;
      errors.push({ pointer: `/limits/${name}`, code: 'validation_failed', detail });
    }
  }
  if (errors.length > 0) throw new Problem('validation_failed', errors[0].detail, { errors });
  return after;
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
