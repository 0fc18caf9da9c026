import { exampleOf } from '../../../base/schema/example.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { MAX_URL_LENGTH } from '../../delivery/worker-url.ts';
import { type Actor, callbackOf, TASK_STATUSES, type Task, type TaskBody } from '../../model/task.ts';
import { givenHeaders, targetOf } from '../../model/task-headers.ts';
import { formatTime } from '../../model/time.ts';
import { parseExactly } from '../checks/exact-json.ts';
import { NAMED } from '../checks/example-names.ts';
import {
  COUNT,
  DURATION,
  durationText,
  type FieldTable,
  fieldsOf,
  shownBy,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  takenBy,
  viewOf,
} from '../checks/resource.ts';
import { CONTENT_FIELDS, GROUP, GROUP_FLAG, HEADERS } from './content-fields.ts';
import { PAYLOAD, payloadText, payloadView } from './payload-fields.ts';

/** The actor of a change in responses. */
export const ACTOR_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Actor',
  properties: { type: TEXT, id: TEXT },
  example: NAMED.actor,
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

/** The URL of one task. */
export const TASK_URL: Schema = {
  type: 'string',
  max: MAX_URL_LENGTH,
  format: 'uri',
  nullable: true,
  description:
    'The URL that the task is pushed to. Required for workers with task_urls, and not allowed for others.',
};

const of = fieldsOf<Task>();

/** All fields of a task (specification 3.2). `./new-task.ts` reads those that depend on each other. */
export const TASK_FIELDS: FieldTable<Task> = {
  id: of.shown('id', { ...TEXT, example: NAMED.ids.task }),
  worker: {
    only: 'new',
    required: true,
    takes: { type: 'string', min: 1, max: 64, description: 'Name or id of the worker.' },
    shows: { ...TEXT, description: 'Name of the worker.', example: NAMED.worker },
    show: ({ worker }) => worker,
  },
  worker_id: of.shown('workerId', { ...TEXT, example: NAMED.ids.worker }),
  type: CONTENT_FIELDS.type,
  status: {
    only: 'change',
    takes: {
      type: 'string',
      enum: TASK_STATUSES,
      description:
        'scheduled, paused or canceled, or the current status. scheduled resumes a paused task and ' +
        'replays a finished task, with the other fields of this request.',
    },
    shows: { type: 'string', enum: TASK_STATUSES, example: 'scheduled' },
    show: ({ status }) => status,
  },
  priority: CONTENT_FIELDS.priority,
  run_at: {
    takes: {
      ...TIME,
      max: 64,
      nullable: true,
      description: 'Earliest start, at most 366 days ahead. A time in the past means now.',
    },
    shows: { ...TIME, example: '2026-03-01T10:15:00.000Z' },
    show: ({ runAt }) => formatTime(runAt),
    flag: { placeholder: 'TIME', help: 'start at this time at the earliest: 2026-03-01T10:00:00Z' },
  },
  next_attempt_at: of.stamp('dueAt', {
    nullable: true,
    description: 'When the task is due; null while it is running, held by another task, or finished.',
    example: '2026-03-01T10:15:00.000Z',
  }),
  waiting_for: {
    shows: {
      type: 'string',
      enum: Object.keys(WAITING_REASONS),
      nullable: true,
      optional: true,
      description: `Why a due task has not started; null if it is not due. Only present when tasks are read or listed. ${MEANING.join('; ')}.`,
    },
  },
  waiting_since: {
    shows: {
      ...TIME_OR_NULL,
      optional: true,
      description:
        'When the task became due, or would have become due if it were not held; null if `waiting_for` is null.',
    },
  },
  expires_at: of.time('expiresAt', 'The task expires if it has not started by this time.'),
  expires_in: {
    takes: {
      ...DURATION,
      nullable: true,
      description:
        'The task expires if it has not started within this time. Cannot be combined with expires_at.',
    },
    flag: { placeholder: 'DURATION', help: 'expire if it has not started within this time' },
  },
  delay: {
    only: 'new',
    takes: {
      ...DURATION,
      nullable: true,
      description: 'Delay until the earliest start. Cannot be combined with run_at.',
    },
    flag: { placeholder: 'DURATION', help: 'start after this delay at the earliest: 1h30m' },
  },
  timeout: CONTENT_FIELDS.timeout,
  retry: CONTENT_FIELDS.retry,
  attempt: of.shown('attempt', {
    ...COUNT,
    description: 'Number of attempts that were started and counted.',
  }),
  max_attempts: { shows: { ...COUNT, example: 12 }, show: ({ retry }) => retry.maxAttempts },
  deferrals: of.shown('deferrals', COUNT),
  key: {
    only: 'new',
    takes: {
      type: 'string',
      min: 1,
      max: 255,
      pattern: /^[A-Za-z0-9._:/-]+$/,
      accepts: 'consist of ASCII letters and digits, and . _ : / -',
      nullable: true,
      description: 'A worker has at most one open task with this key.',
    },
    shows: { ...TEXT_OR_NULL, example: 'welcome:ann' },
    show: ({ key }) => key,
    flag: { placeholder: 'TEXT', help: 'unique key: a worker has at most one unfinished task with it' },
  },
  on_conflict: {
    only: 'new',
    takes: {
      type: 'string',
      enum: ['return', 'reject', 'replace', 'replace_keep_time'],
      description: 'What to do if an open task has the key. Default: return.',
    },
    flag: {
      placeholder: 'WORD',
      help: 'what to do if a task with the key exists: return, reject, replace or replace_keep_time',
    },
  },
  key_ttl: {
    only: 'new',
    takes: {
      ...DURATION,
      nullable: true,
      description: 'How long the key stays reserved after the task has finished, at most 30d.',
    },
    shows: { ...TEXT, example: '0s' },
    show: ({ keyTtlMs }) => durationText(keyTtlMs),
  },
  // Those that are not named above.
  ...(CONTENT_FIELDS as FieldTable<Task>),
  last_error: { shows: LAST_ERROR, show: lastErrorView },
  cancel_requested_at: of.stamp('cancelRequestedAt', { nullable: true }),
  group: {
    only: 'new',
    takes: GROUP,
    shows: TEXT_OR_NULL,
    show: ({ group }) => group,
    flag: GROUP_FLAG,
  },
  schedule_id: of.shown('scheduleId', TEXT_OR_NULL),
  scheduled_for: of.stamp('scheduledFor', { nullable: true }),
  held_by: of.shown('heldBy', {
    ...TEXT_OR_NULL,
    description: 'The task that must finish before this one can start.',
  }),
  callback_of: {
    shows: {
      ...TEXT_OR_NULL,
      description: 'The task that this callback reports on; created by the `on_finish` of its worker.',
    },
    show: callbackOf,
  },
  created_by: { shows: ACTOR_ANSWER, show: ({ createdBy }) => actorView(createdBy) },
  created_at: of.stamp('createdAt'),
  updated_at: of.stamp('updatedAt'),
  started_at: of.stamp('startedAt', { nullable: true }),
  finished_at: of.stamp('finishedAt', { nullable: true }),
  version: of.shown('version', { ...COUNT, example: 1 }),
  ...PAYLOAD,
  url: {
    only: 'new',
    takes: TASK_URL,
    shows: {
      ...TEXT_OR_NULL,
      optional: true,
      description:
        'The URL of the task; null if it uses the URL of its worker. Shown under the same conditions as payload.',
    },
    flag: {
      name: 'push-to',
      placeholder: 'URL',
      help: 'URL to push to, for a worker that was created with --task-urls',
    },
  },
  headers: HEADERS,
  result: { shows: { type: 'any', nullable: true, optional: true } },
};

/** The body that creates a task. */
export const NEW_TASK: ObjectSchema = {
  type: 'object',
  name: 'NewTask',
  properties: takenBy(TASK_FIELDS, 'new'),
  example: {
    worker: NAMED.worker,
    type: 'email.welcome',
    payload: { to: NAMED.email, template: 'welcome' },
    key: 'welcome:ann',
    delay: '15m',
    tags: ['onboarding'],
  },
};

export const TASK_CHANGES: ObjectSchema = {
  type: 'object',
  name: 'TaskChanges',
  properties: takenBy(TASK_FIELDS, 'change'),
  example: { priority: 'high', run_at: '2026-03-01T12:00:00Z' },
};

/** An example of a task that waits, without its body. */
export const TASK_EXAMPLE = exampleOf({ type: 'object', properties: shownBy(TASK_FIELDS) }) as object;

export const SUCCEEDED_EXAMPLE = {
  ...TASK_EXAMPLE,
  status: 'succeeded',
  next_attempt_at: null,
  attempt: 1,
  updated_at: '2026-03-01T10:15:00.410Z',
  started_at: '2026-03-01T10:15:00.020Z',
  finished_at: '2026-03-01T10:15:00.410Z',
  version: 3,
};

export const TASK_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Task',
  properties: shownBy(TASK_FIELDS),
  example: {
    ...SUCCEEDED_EXAMPLE,
    payload: { to: NAMED.email, template: 'welcome' },
    url: null,
    headers: {},
    result: { message_id: 'm-4711' },
  },
};

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
  const shown = viewOf(TASK_FIELDS, task);
  if (body === null) return shown;
  return Object.assign(shown, payloadView(body.payload), {
    url: targetOf(body.headers),
    headers: givenHeaders(body.headers),
    result: body.result === null ? null : parseExactly(body.result),
  });
}

function lastErrorView({ lastError }: Task): Record<string, unknown> | null {
  if (lastError === null) return null;
  const { code, message, httpStatus, at } = lastError;
  const known = httpStatus === undefined ? {} : { http_status: httpStatus };
  return { code, message, ...known, at: formatTime(at) };
}
