import { DAY_MS, HOUR_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { MAX_URL_LENGTH } from '../../delivery/worker-url.ts';
import type { Rate, Worker } from '../../model/documents.ts';
import { DEFAULT_RETRY_POLICY, mergeRetry } from '../../model/retry-policy.ts';
import { PRIORITIES } from '../../model/task-content.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { NAMED } from '../checks/example-names.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import {
  COUNT,
  DURATION,
  durationText,
  type FieldTable,
  fieldsOf,
  shownBy,
  TEXT,
  takenBy,
  viewOf,
  WHOLE,
} from '../checks/resource.ts';
import { PAUSE_FIELDS, RETRY_ANSWER, RETRY_SCHEMA, readRetry, retryView } from './common-fields.ts';
import { MAX_HEADERS, PULL_TIMEOUT, PUSH_TIMEOUT, readHeaders } from './content-fields.ts';
import { ENDED_SPARK } from './last-minutes.ts';
import { START_LIMIT, START_LIMIT_ANSWER } from './start-limit-fields.ts';
import { ON_FINISH_ANSWER, ON_FINISH_FIELDS, onFinishView } from './worker-on-finish.ts';

const RATE_PERIOD = { minMs: 1_000, maxMs: DAY_MS };
const AUTO_PAUSE = { minMs: 60_000, maxMs: 366 * DAY_MS };
/** Maximum ratio of burst and limit. */
const MAX_BURST_FACTOR = 10;
const DEFAULT_LEASE_MS = 60_000;
const DEFAULT_AUTO_PAUSE_MS = 120 * HOUR_MS;

/** The form of names of workers and schedules. */
export const NAME_FORM = {
  type: 'string',
  min: 1,
  max: 63,
  pattern: /^[a-z0-9][a-z0-9._-]*$/,
  accepts: 'consist of lowercase letters, digits and . _ -, and begin with a letter or a digit',
} as const satisfies Schema;

const MODES = ['push', 'pull'] as const;

/** The number of attempts that may run at once, or null. */
const CONCURRENCY = { type: 'number', integer: true, min: 1, max: 1000 } as const satisfies Schema;

const HEALTH: ObjectSchema = {
  type: 'object',
  name: 'WorkerHealth',
  optional: true,
  description: 'Only present when a single worker is read, or a list with `include=health`.',
  properties: {
    in_flight: { ...COUNT, description: 'Number of running attempts.' },
    waiting: { ...COUNT, description: 'Number of tasks that wait for their start.' },
    paused: COUNT,
    failed: COUNT,
    ended_spark: ENDED_SPARK,
  },
};

const of = fieldsOf<Worker>();

/** All fields of a worker (specification 3.5), apart from its id and version. */
export const WORKER_FIELDS: FieldTable<Worker> = {
  name: {
    required: true,
    takes: {
      ...NAME_FORM,
      description:
        'Unique in the account. Must not begin with wrk_. Cannot change while the worker has tasks.',
    },
    put: (worker, name, reader, pointer) => {
      worker.name = name as string;
      if (worker.name.startsWith('wrk_'))
        reader.fault(pointer, 'invalid', 'must not begin with wrk_, which is reserved for ids');
    },
    shows: { ...TEXT, example: NAMED.worker },
    show: ({ name }) => name,
  },
  mode: {
    takes: {
      type: 'string',
      enum: MODES,
      description:
        'Default: push if url or task_urls is given, otherwise pull. Can only change while no task is running.',
    },
    shows: { type: 'string', enum: MODES },
    show: ({ mode }) => mode,
  },
  url: of.plain(
    'url',
    {
      type: 'string',
      max: MAX_URL_LENGTH,
      format: 'uri',
      description: 'The URL that tasks are pushed to.',
    },
    {
      fallback: null,
      example: 'https://mail.example.com/tasks',
      flag: {
        name: 'push-to',
        placeholder: 'URL',
        help: 'URL that tasks are pushed to; without it, a new worker pulls',
      },
    },
  ),
  task_urls: {
    takes: {
      type: 'boolean',
      description: 'Each task has its own URL, in place of url. Header secrets are not sent to these URLs.',
    },
    put: (worker, value) => {
      worker.taskUrls = value as boolean;
    },
    shows: { type: 'boolean' },
    show: ({ taskUrls = false }) => taskUrls,
  },
  method: of.plain(
    'method',
    { type: 'string', enum: ['POST', 'PUT', 'PATCH'] },
    { fallback: 'POST', shows: TEXT, example: 'POST' },
  ),
  headers: {
    takes: {
      type: 'record',
      values: { type: 'string', max: 8192 },
      maxEntries: MAX_HEADERS,
      nullable: true,
      description:
        'Header fields of each push, at most 8 KiB. All users of the account can read them; use header secrets for confidential values.',
    },
    put: (worker, value, reader, pointer) => {
      worker.headers = readHeaders(value, pointer, reader) ?? {};
    },
    shows: { type: 'record', values: TEXT },
    show: ({ headers }) => headers,
  },
  timeout: {
    takes: {
      ...DURATION,
      nullable: true,
      description:
        'Timeout of attempts whose task has none: 1s to 15m for push (default: 30s), 1s to 24h for pull (default: 24h).',
    },
    put: (worker, value, reader, pointer) => {
      const ms = reader.duration(value, pointer, worker.mode === 'push' ? PUSH_TIMEOUT : PULL_TIMEOUT);
      if (ms !== undefined) worker.timeoutMs = ms ?? modeDefaults(worker.mode).timeoutMs;
    },
    shows: { ...TEXT, example: '30s' },
    show: ({ timeoutMs }) => durationText(timeoutMs),
    flag: { placeholder: 'DURATION', help: 'maximum duration of an attempt' },
  },
  lease: of.duration('leaseMs', {
    minMs: 5_000,
    maxMs: 12 * HOUR_MS,
    fallback: DEFAULT_LEASE_MS,
    description: 'How long a lease lasts without a heartbeat: 5s to 12h. Default: 60s.',
    example: '1m',
  }),
  retry: {
    takes: RETRY_SCHEMA,
    put: (worker, value, reader, pointer) => {
      const retry = readRetry(value, pointer, reader);
      worker.retry = retry === null ? DEFAULT_RETRY_POLICY : mergeRetry(worker.retry, retry);
    },
    shows: RETRY_ANSWER,
    show: ({ retry }) => retryView(retry),
  },
  concurrency: of.plain(
    'concurrency',
    {
      ...CONCURRENCY,
      description:
        'Maximum number of concurrent attempts, over all processes; null: no limit. Default: 10 for push, null for pull.',
    },
    {
      fallback: null,
      example: 10,
      flag: { placeholder: 'N', help: 'maximum number of attempts at the same time, or none' },
    },
  ),
  rate: {
    takes: {
      type: 'object',
      name: 'RateFields',
      nullable: true,
      description: 'Maximum rate of attempts (a token bucket).',
      properties: {
        limit: { type: 'number', integer: true, min: 1, max: 1_000_000 },
        per: { ...DURATION, description: '1s to 1d.' },
        burst: {
          type: 'number',
          integer: true,
          min: 1,
          max: 10_000_000,
          optional: true,
          description: 'Size of the bucket, at most ten times the limit. Default: the limit.',
        },
      },
    },
    put: (worker, value, reader, pointer) => {
      worker.rate = readRate(value as Fields | null, reader, pointer);
    },
    shows: {
      type: 'object',
      name: 'Rate',
      nullable: true,
      properties: { limit: WHOLE, per: TEXT, burst: WHOLE },
      example: { limit: 50, per: '1s', burst: 50 },
    },
    show: ({ rate }) => rate && { limit: rate.limit, per: durationText(rate.perMs), burst: rate.burst },
  },
  limit: { takes: START_LIMIT, shows: START_LIMIT_ANSWER, show: ({ limit = null }) => limit },
  group_concurrency: {
    takes: {
      ...CONCURRENCY,
      nullable: true,
      description:
        'Maximum number of concurrent attempts for tasks of the same group, over all processes; null: no limit.',
    },
    shows: { ...WHOLE, nullable: true },
    show: ({ groups }) => groups?.concurrency ?? null,
    flag: { placeholder: 'N', help: 'maximum number of concurrent attempts per group, or none' },
  },
  group_order: {
    takes: {
      type: 'string',
      enum: ['any', 'fifo'],
      nullable: true,
      description:
        'fifo, only with a group_concurrency of 1: tasks of a group start in the order of run_at, then of creation. ' +
        'A task that waits for a retry blocks the tasks behind it; a paused task does not. Default: any.',
    },
    shows: { type: 'string', enum: ['any', 'fifo'] },
    show: ({ groups }) => (groups?.fifo === true ? 'fifo' : 'any'),
    flag: {
      placeholder: 'WORD',
      help: 'any, or fifo (one after the other; requires --group-concurrency 1)',
    },
  },
  on_finish: {
    takes: ON_FINISH_FIELDS,
    shows: ON_FINISH_ANSWER,
    show: ({ onFinish = null }) => onFinishView(onFinish),
  },
  priority: of.plain(
    'priority',
    { type: 'string', enum: PRIORITIES },
    { fallback: 'normal', example: 'normal' },
  ),
  no_retry_on: {
    takes: {
      type: 'array',
      items: { type: 'number', integer: true, min: 300, max: 599 },
      max: 100,
      nullable: true,
      description: 'HTTP statuses after which a task fails without further retries.',
    },
    put: (worker, statuses) => {
      worker.noRetryOn = [...new Set((statuses as readonly number[] | null) ?? [])];
    },
    shows: { type: 'array', items: WHOLE, example: [400, 404] },
    show: ({ noRetryOn }) => noRetryOn,
  },
  ...PAUSE_FIELDS,
  auto_pause: {
    takes: {
      type: 'object',
      name: 'AutoPauseFields',
      nullable: true,
      description:
        'Pauses the worker automatically after this long with failures only, 1m to 366d; null: never. Default: 120h.',
      properties: { after: DURATION },
    },
    put: (worker, value, reader, pointer) => {
      const { after } = (value ?? { after: null }) as { readonly after: unknown };
      const ms = reader.duration(after, `${pointer}/after`, AUTO_PAUSE);
      if (ms !== undefined) worker.autoPauseAfterMs = ms;
    },
    shows: { type: 'object', nullable: true, properties: { after: TEXT }, example: { after: '5d' } },
    show: ({ autoPauseAfterMs: ms }) => (ms === null ? null : { after: durationText(ms) }),
  },
  health: { shows: HEALTH },
  created_at: of.stamp('createdAt', { example: '2026-02-02T09:00:00.000Z' }),
  updated_at: of.stamp('updatedAt', { example: '2026-02-02T09:00:00.000Z' }),
};

export const NEW_WORKER: ObjectSchema = {
  type: 'object',
  name: 'NewWorker',
  properties: takenBy(WORKER_FIELDS, 'new'),
  example: {
    name: NAMED.worker,
    url: 'https://mail.example.com/tasks',
    timeout: '30s',
    concurrency: 10,
    rate: { limit: 50, per: '1s' },
    retry: { max_attempts: 12, base: '5s', factor: 2, max: '1h' },
    no_retry_on: [400, 404],
  },
};

export const WORKER_CHANGES: ObjectSchema = {
  type: 'object',
  name: 'WorkerChanges',
  properties: takenBy(WORKER_FIELDS, 'change'),
  example: {
    concurrency: 20,
    paused: true,
    pause_reason: 'maintenance',
    resume_at: '2026-03-01T12:00:00Z',
  },
};

/** A worker in responses. */
export const WORKER_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Worker',
  properties: {
    id: { ...TEXT, example: NAMED.ids.worker },
    ...shownBy(WORKER_FIELDS),
    version: WHOLE,
  },
};

/** A worker in the form of {@link WORKER_ANSWER}, without its health. */
export function workerView({
  id,
  version,
  body,
}: Pick<StoredDocument<'worker'>, 'id' | 'version' | 'body'>): Record<string, unknown> {
  return { id, ...viewOf(WORKER_FIELDS, body), version };
}

const DEFAULT_PUSH_TIMEOUT_MS = 30_000;
const DEFAULT_PUSH_CONCURRENCY = 10;

/** Defaults that depend on the mode. */
export function modeDefaults(
  mode: Worker['mode'],
): Pick<Worker, 'url' | 'taskUrls' | 'headers' | 'timeoutMs' | 'concurrency'> {
  const push = mode === 'push';
  return {
    url: null,
    taskUrls: false,
    headers: {},
    timeoutMs: push ? DEFAULT_PUSH_TIMEOUT_MS : PULL_TIMEOUT.maxMs,
    concurrency: push ? DEFAULT_PUSH_CONCURRENCY : null,
  };
}

export function newWorker(nowMs: number): Worker {
  return {
    name: '',
    mode: 'pull',
    ...modeDefaults('pull'),
    method: 'POST',
    leaseMs: DEFAULT_LEASE_MS,
    retry: DEFAULT_RETRY_POLICY,
    rate: null,
    limit: null,
    groups: null,
    onFinish: null,
    priority: 'normal',
    noRetryOn: [],
    paused: false,
    pauseReason: null,
    resumeAt: null,
    autoPauseAfterMs: DEFAULT_AUTO_PAUSE_MS,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function readRate(fields: Fields | null, reader: FieldReader, at: string): Rate | null {
  if (fields === null) return null;
  const limit = fields.limit as number;
  const perMs = reader.duration(fields.per, `${at}/per`, RATE_PERIOD) ?? RATE_PERIOD.minMs;
  const burst = (fields.burst as number | undefined) ?? limit;
  if (burst > limit * MAX_BURST_FACTOR) {
    reader.fault(
      `${at}/burst`,
      'out_of_range',
      `must be at most ten times the limit (${limit * MAX_BURST_FACTOR}), but is ${burst}`,
    );
  }
  return { limit, perMs, burst };
}
