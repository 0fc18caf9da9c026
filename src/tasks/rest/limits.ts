import { formatDuration } from '../model/duration.ts';
import { isFinal, TASK_STATUSES } from '../model/task.ts';
import type { RestParts } from './parts.ts';
import type { Call, RestAnswer, Route } from './route.ts';
import type { NumberSchema, ObjectSchema, StringSchema } from './schema.ts';
import { limitsOf } from './tenant-limits.ts';

const COUNT: NumberSchema = { type: 'number', integer: true, min: 0 };
const DURATION: StringSchema = { type: 'string' };

const ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Limits',
  properties: {
    limits: {
      type: 'object',
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
    },
    use: {
      type: 'object',
      properties: { open_tasks: COUNT, workers: COUNT, schedules: COUNT, users: COUNT, in_flight: COUNT },
    },
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
  const { store } = parts;
  const limits = limitsOf(parts, call);
  const [counts, workers, schedules, users] = await Promise.all([
    store.counts(call.tenant, null),
    store.countDocuments(call.tenant, 'worker'),
    store.countDocuments(call.tenant, 'schedule'),
    store.countDocuments(call.tenant, 'user'),
  ]);
  let open = 0;
  for (const status of TASK_STATUSES) if (!isFinal(status)) open += counts[status];
  return {
    status: 200,
    json: {
      limits: {
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
      },
      use: { open_tasks: open, workers, schedules, users, in_flight: counts.running },
      time_zone_data: process.versions.tz ?? 'unknown',
    },
  };
}
