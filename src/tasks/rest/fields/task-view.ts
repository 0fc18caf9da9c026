import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import {
  type Actor,
  callbackOf,
  PRIORITIES,
  TASK_STATUSES,
  type Task,
  type TaskBody,
} from '../../model/task.ts';
import { givenHeaders, targetOf } from '../../model/task-headers.ts';
import { formatDuration, formatTime, formatTimeOrNull } from '../../model/time.ts';
import { parseExactly } from '../checks/exact-json.ts';
import { RETRY_ANSWER, retryView } from './common-fields.ts';
import { PAYLOAD_ANSWER, payloadText, payloadView } from './payload-fields.ts';

const TEXT: Schema = { type: 'string' };
const TEXT_OR_NULL: Schema = { type: 'string', nullable: true };
const COUNT: Schema = { type: 'number', integer: true, min: 0 };
export const TIME: Schema = { type: 'string', format: 'date-time' };
export const TIME_OR_NULL: Schema = { type: 'string', format: 'date-time', nullable: true };

/** The actor of a change in responses. */
export const ACTOR_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Actor',
  properties: { type: TEXT, id: TEXT },
};

const LAST_ERROR: ObjectSchema = {
  type: 'object',
  name: 'TaskError',
  nullable: true,
  properties: {
    code: TEXT,
    message: TEXT,
    http_status: { type: 'number', integer: true, optional: true },
    at: TIME,
  },
};

/** Reasons why a due task has not started, in the order in which they are checked. */
const WAITING_REASONS = {
  held: 'the task in `held_by` has not finished',
  tenant_suspended: 'the account is suspended',
  worker_deleted: 'the worker is being deleted',
  paused: 'the worker is paused',
  group:
    'the `group_concurrency` of the worker is reached for its `group`, or with `group_order: fifo` another task is before it',
  throttled: 'the worker answered with Retry-After, and the delay has not passed',
  concurrency: 'the `concurrency` of the worker is reached',
  rate: 'the `rate` of the worker is reached',
  limit: 'the `limit` of the worker is used up until its window ends, or the decision service is unavailable',
  tenant_share:
    'the account has reached its limit of tasks in flight or of starts per second, or its share of the deliveries of the process',
  secrets_unreadable: 'a secret of the worker cannot be decrypted with the master key',
  capacity: 'all slots for deliveries are in use, or the task is just about to start',
  pull_worker: 'no pull worker has leased it',
} as const;
export type WaitingReason = keyof typeof WAITING_REASONS;

const MEANING = Object.entries(WAITING_REASONS).map(([name, meaning]) => `\`${name}\`: ${meaning}`);

/** Fields of a task that only reads and lists show. */
const WAITING_FIELDS = {
  waiting_for: {
    type: 'string',
    enum: Object.keys(WAITING_REASONS),
    nullable: true,
    optional: true,
    description: `Why a due task has not started; null if it is not due. Only present when tasks are read or listed. ${MEANING.join('; ')}.`,
  },
  waiting_since: {
    ...TIME_OR_NULL,
    optional: true,
    description:
      'When the task became due, or would have become due if it were not held; null if `waiting_for` is null.',
  },
} as const satisfies Record<string, Schema>;

/** Fields of a task in responses (specification 3.2). */
export const TASK_FIELDS = {
  id: TEXT,
  worker: { type: 'string', description: 'Name of the worker.' },
  worker_id: TEXT,
  type: TEXT_OR_NULL,
  status: { type: 'string', enum: TASK_STATUSES },
  priority: { type: 'string', enum: PRIORITIES },
  run_at: TIME,
  next_attempt_at: {
    ...TIME_OR_NULL,
    description: 'When the task is due; null while it is running, held by another task, or finished.',
  },
  ...WAITING_FIELDS,
  expires_at: TIME_OR_NULL,
  timeout: TEXT,
  retry: RETRY_ANSWER,
  attempt: { ...COUNT, description: 'Number of attempts that were started and counted.' },
  max_attempts: COUNT,
  deferrals: COUNT,
  key: TEXT_OR_NULL,
  key_ttl: TEXT,
  tags: { type: 'array', items: TEXT },
  metadata: { type: 'record', values: TEXT },
  last_error: LAST_ERROR,
  cancel_requested_at: TIME_OR_NULL,
  group: TEXT_OR_NULL,
  schedule_id: TEXT_OR_NULL,
  scheduled_for: TIME_OR_NULL,
  held_by: { ...TEXT_OR_NULL, description: 'The task that must finish before this one can start.' },
  callback_of: {
    ...TEXT_OR_NULL,
    description: 'The task that this callback reports on; created by the `on_finish` of its worker.',
  },
  created_by: ACTOR_ANSWER,
  created_at: TIME,
  updated_at: TIME,
  started_at: TIME_OR_NULL,
  finished_at: TIME_OR_NULL,
  version: COUNT,
  ...PAYLOAD_ANSWER,
  url: {
    ...TEXT_OR_NULL,
    optional: true,
    description:
      'The URL of the task; null if it uses the URL of its worker. Shown under the same conditions as payload.',
  },
  headers: { type: 'record', values: TEXT, optional: true },
  result: { type: 'any', nullable: true, optional: true },
} as const satisfies Record<string, Schema>;

export const TASK_ANSWER: ObjectSchema = { type: 'object', name: 'Task', properties: TASK_FIELDS };

export function actorView({ type, id }: Actor): Record<string, unknown> {
  return { type, id };
}

/**
 * The JSON text of a task. The payload and the result of the store are inserted unchanged, because parsing and
 * serializing them again would take many times as long.
 *
 * @param body as for {@link taskView}
 * @param more further fields
 */
export function taskText(
  task: Task,
  body: TaskBody | null,
  more: Readonly<Record<string, string | null>> = {},
): string {
  const text = JSON.stringify(Object.assign(taskView(task, null), more));
  if (body === null) return text;
  const { payload, headers, result } = body;
  const target = `"url":${JSON.stringify(targetOf(headers))},"headers":${JSON.stringify(givenHeaders(headers))}`;
  return `${text.slice(0, -1)},${payloadText(payload)},${target},"result":${result}}`;
}

/**
 * A task in the form of {@link TASK_ANSWER}.
 *
 * @param body null to leave out payload, headers and result: they were not requested, or the caller may not see them
 */
export function taskView(task: Task, body: TaskBody | null): Record<string, unknown> {
  const shown: Record<string, unknown> = {
    id: task.id,
    worker: task.worker,
    worker_id: task.workerId,
    type: task.type,
    status: task.status,
    priority: task.priority,
    run_at: formatTime(task.runAt),
    next_attempt_at: formatTimeOrNull(task.dueAt),
    expires_at: formatTimeOrNull(task.expiresAt),
    timeout: formatDuration(task.timeoutMs),
    retry: retryView(task.retry),
    attempt: task.attempt,
    max_attempts: task.retry.maxAttempts,
    deferrals: task.deferrals,
    key: task.key,
    key_ttl: formatDuration(task.keyTtlMs),
    tags: task.tags,
    metadata: task.metadata,
    last_error: lastErrorView(task),
    cancel_requested_at: formatTimeOrNull(task.cancelRequestedAt),
    group: task.group,
    schedule_id: task.scheduleId,
    scheduled_for: formatTimeOrNull(task.scheduledFor),
    held_by: task.heldBy,
    callback_of: callbackOf(task),
    created_by: actorView(task.createdBy),
    created_at: formatTime(task.createdAt),
    updated_at: formatTime(task.updatedAt),
    started_at: formatTimeOrNull(task.startedAt),
    finished_at: formatTimeOrNull(task.finishedAt),
    version: task.version,
  };
  if (body !== null) {
    Object.assign(shown, payloadView(body.payload));
    shown.url = targetOf(body.headers);
    shown.headers = givenHeaders(body.headers);
    shown.result = body.result === null ? null : parseExactly(body.result);
  }
  return shown;
}

function lastErrorView({ lastError }: Task): Record<string, unknown> | null {
  if (lastError === null) return null;
  const { code, message, httpStatus, at } = lastError;
  const known = httpStatus === undefined ? {} : { http_status: httpStatus };
  return { code, message, ...known, at: formatTime(at) };
}
